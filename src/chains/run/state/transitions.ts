/**
 * The transitions of a run, as pure functions. A repeated transition leaves the state unchanged, so that a caller can
 * repeat it when it is unknown whether the store received it. An impossible transition returns undefined.
 */

import { skipReasonMax } from '../../../core/limits.ts';
import type { RunApproval, RunEnd, RunOwner, RunState, StepState } from './run-state.ts';

export type RunTransition =
  /** A process takes the run over. `previousOwner` is the owner that is known to be gone, if there was one. */
  | { readonly type: 'taken'; readonly owner: RunOwner; readonly previousOwner: RunOwner | undefined }
  | { readonly type: 'renewed'; readonly by: string; readonly untilMs: number }
  /** The owner leaves the run to another process. */
  | { readonly type: 'released'; readonly by: string }
  | { readonly type: 'admitted'; readonly by: string }
  | { readonly type: 'asked'; readonly by: string; readonly card: string }
  | {
      readonly type: 'answered';
      readonly by: string;
      /** Rules that a person approved for the whole run. */
      readonly approved?: RunApproval;
    }
  | {
      readonly type: 'begun';
      readonly by: string;
      readonly step: number;
      readonly attempt: number;
      readonly wallMs: number;
    }
  | {
      readonly type: 'finished';
      readonly by: string;
      readonly step: number;
      readonly attempt: number;
      readonly wallMs: number;
      readonly outputBytes: number;
      readonly leftBehind?: StepState['leftBehind'];
    }
  | {
      readonly type: 'skipped';
      readonly by: string;
      readonly step: number;
      readonly wallMs: number;
      readonly reason: string;
    }
  | {
      readonly type: 'failed';
      readonly by: string;
      readonly step: number;
      readonly attempt: number;
      readonly wallMs: number;
      readonly end: RunEnd;
      readonly leftBehind?: StepState['leftBehind'];
    }
  | {
      readonly type: 'ended';
      readonly by: string;
      readonly status: 'done' | 'failed' | 'aborted' | 'throttled' | 'cancelled';
      readonly wallMs: number;
      readonly end?: RunEnd;
    }
  | { readonly type: 'cancelled'; readonly wallMs: number; readonly end: RunEnd }
  | { readonly type: 'resolved'; readonly how: 'done' | 'redo'; readonly outputBytes: number; readonly wallMs: number };

/** Whether a run has ended; only a person's command can change it now. */
export function isOver({ status }: Pick<RunState, 'status'>): boolean {
  return status === 'done' || status === 'failed' || status === 'aborted' || status === 'cancelled';
}

/** The index of the step that was started and has not ended, or is in doubt. */
export function findOpenStep({ steps }: Pick<RunState, 'steps'>): number {
  return steps.findIndex(({ status }) => status === 'running' || status === 'in-doubt');
}

/** The next state, the same state for a repeated transition, or undefined for an impossible one. */
export function applyTransition(run: RunState, transition: RunTransition): RunState | undefined {
  switch (transition.type) {
    case 'taken':
      return takeOver(run, transition);
    case 'renewed':
      if (!isOwner(run, transition.by)) return undefined;
      return { ...run, owner: { ...run.owner!, untilMs: transition.untilMs } };
    case 'released':
      return isOwner(run, transition.by) ? omit(run, 'owner') : run;
    case 'admitted':
      if (run.admitted) return run;
      return isOwner(run, transition.by) ? { ...run, admitted: true } : undefined;
    case 'asked':
      if (!isOwner(run, transition.by)) return undefined;
      if (run.card === transition.card && run.status === 'waiting') return run;
      return { ...run, status: 'waiting', card: transition.card };
    case 'answered': {
      if (!isOwner(run, transition.by)) return undefined;
      const { approved } = transition;
      if (approved === undefined || run.approved.some((each) => isSameApproval(each, approved)))
        return run.status === 'running' ? run : { ...run, status: 'running' };
      // A later approval of the same rules is for other programs.
      const others = run.approved.filter(({ rules }) => !sameRules(rules, approved.rules));
      return { ...run, status: 'running', approved: [...others, approved] };
    }
    case 'begun': {
      const step = run.steps[transition.step];
      if (step === undefined || !isOwner(run, transition.by)) return undefined;
      if (step.status === 'running' && step.attempts === transition.attempt) return run;
      if (!isNext(run, transition.step) || step.attempts !== transition.attempt - 1) return undefined;
      const next = withStep(run, transition.step, {
        status: 'running',
        attempts: transition.attempt,
        startedWallMs: transition.wallMs,
      });
      return { ...omit(next, 'card'), status: 'running' };
    }
    case 'finished': {
      const { outputBytes, wallMs, leftBehind } = transition;
      const ending = { status: 'done', endedWallMs: wallMs, outputBytes } as const;
      return settleStep(run, transition, { ...ending, ...(leftBehind && { leftBehind }) }, (next) => ({
        ...next,
        status: 'running',
      }));
    }
    case 'failed': {
      const { end, wallMs, leftBehind } = transition;
      const ending = { status: 'failed', endedWallMs: wallMs, reason: end.message } as const;
      return settleStep(run, transition, { ...ending, ...(leftBehind && { leftBehind }) }, (next) =>
        closeRun(next, 'failed', wallMs, end),
      );
    }
    case 'skipped': {
      const step = run.steps[transition.step];
      if (step?.status === 'skipped') return run;
      if (!isNext(run, transition.step) || !isOwner(run, transition.by)) return undefined;
      const reason = transition.reason.slice(0, skipReasonMax);
      return {
        ...withStep(run, transition.step, { status: 'skipped', endedWallMs: transition.wallMs, reason }),
        status: 'running',
      };
    }
    case 'ended':
      if (run.owner === undefined && run.status === transition.status) return run;
      return isOwner(run, transition.by)
        ? closeRun(run, transition.status, transition.wallMs, transition.end)
        : undefined;
    case 'cancelled':
      if (isOver(run)) return run.status === 'cancelled' ? run : undefined;
      return closeRun(run, 'cancelled', transition.wallMs, transition.end);
    case 'resolved':
      return resolveStep(run, transition);
  }
}

function takeOver(
  run: RunState,
  { owner, previousOwner }: Extract<RunTransition, { type: 'taken' }>,
): RunState | undefined {
  if (run.owner?.process === owner.process) return run;
  if (isOver(run) || run.status === 'in-doubt') return undefined;
  // The owner is alive.
  if (run.owner?.process !== previousOwner?.process || run.owner?.untilMs !== previousOwner?.untilMs) return undefined;
  const { end: _, endedWallMs: __, ...rest } = run;
  const at = findOpenStep(run);
  if (at < 0) return { ...rest, status: 'running', owner };
  if (run.chain.steps[at]?.idempotent) {
    return { ...withStep(rest, at, { status: 'pending' }), status: 'running', owner };
  }
  const reason = 'its process ended during the step: it is unknown whether the step was done';
  return { ...omit(withStep(rest, at, { status: 'in-doubt', reason }), 'owner'), status: 'in-doubt' };
}

/** Settles a step that ran, for the owner, or for an earlier owner that another process had given up. */
function settleStep(
  run: RunState,
  transition: { readonly by: string; readonly step: number; readonly attempt: number },
  state: Partial<StepState> & Pick<StepState, 'status'>,
  after: (run: RunState) => RunState,
): RunState | undefined {
  const step = run.steps[transition.step];
  if (step === undefined || step.attempts !== transition.attempt) return undefined;
  if (step.status === state.status) return run;
  if (step.status !== 'running' && step.status !== 'in-doubt') return undefined;
  const { reason: _, ...current } = step;
  const next = {
    ...run,
    steps: run.steps.map((each, at) => (at === transition.step ? { ...current, ...state } : each)),
  };
  if (isOver(run)) return next; // The run was cancelled in the meantime and stays cancelled.
  if (run.status === 'in-doubt') return after(next); // The outcome is known now.
  return isOwner(run, transition.by) ? after(next) : undefined;
}

function closeRun(run: RunState, status: RunState['status'], wallMs: number, end: RunEnd | undefined): RunState {
  const at = findOpenStep(run);
  const reason = 'the run was stopped during the step: it is unknown whether the step was done';
  const current = at < 0 ? run : withStep(run, at, { status: 'in-doubt', reason });
  return { ...omit(omit(current, 'owner'), 'card'), status, endedWallMs: wallMs, ...(end && { end }) };
}

function resolveStep(run: RunState, { how, outputBytes, wallMs }: Extract<RunTransition, { type: 'resolved' }>) {
  const at = findOpenStep(run);
  if (run.status !== 'in-doubt' || at < 0) return undefined;
  const { reason: _, ...step } = run.steps[at]!;
  const next: StepState =
    how === 'done' ? { ...step, status: 'done', endedWallMs: wallMs, outputBytes } : { ...step, status: 'pending' };
  const steps = run.steps.map((each, index) => (index === at ? next : each));
  return { ...run, steps, status: 'running' } as const;
}

/** Whether the step is next: every earlier step is done or skipped. */
function isNext({ steps }: RunState, at: number): boolean {
  return (
    steps.findIndex(({ status }) => status !== 'done' && status !== 'skipped') === at && steps[at]!.status === 'pending'
  );
}

/** Whether this process owns the run. */
function isOwner(run: RunState, by: string): boolean {
  return run.owner?.process === by;
}

function withStep<R extends Pick<RunState, 'steps'>>(run: R, at: number, change: Partial<StepState>): R {
  return { ...run, steps: run.steps.map((step, index) => (index === at ? { ...step, ...change } : step)) };
}

function omit<R extends RunState, K extends 'owner' | 'card'>(run: R, key: K): R {
  const { [key]: _, ...rest } = run;
  return rest as R;
}

/** Whether two sorted lists of rules are equal. */
export function sameRules(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((rule, at) => rule === b[at]);
}

/** Whether two approvals are for the same rules and the same abilities, by anybody. */
function isSameApproval(a: RunApproval, b: RunApproval): boolean {
  return sameRules(a.rules, b.rules) && JSON.stringify(a.programs) === JSON.stringify(b.programs);
}
