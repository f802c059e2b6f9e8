/**
 * How a run moves: pure steps from one state to the next. A move that was made already leaves the state as it is, so
 * that it can be repeated when nobody knows whether the store heard of it. An impossible one is undefined.
 */

import { skipReasonMax } from '../../../core/limits.ts';
import type { RunEnd, RunOwner, RunState, StepState } from './run-state.ts';

export type RunMove =
  /** Somebody goes on with it. `over` is the owner that is known to be gone, if there was one. */
  | { readonly type: 'taken'; readonly owner: RunOwner; readonly over: RunOwner | undefined }
  | { readonly type: 'renewed'; readonly by: string; readonly untilMs: number }
  /** Left for somebody else to go on with. */
  | { readonly type: 'released'; readonly by: string }
  | { readonly type: 'admitted'; readonly by: string }
  | { readonly type: 'asked'; readonly by: string; readonly card: string }
  | {
      readonly type: 'answered';
      readonly by: string;
      /** Rules that a person approved for all of the run. */
      readonly approved?: { readonly rules: readonly string[]; readonly by: string };
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

/** Whether nothing more will happen to a run unless somebody says so. */
export function isOver({ status }: Pick<RunState, 'status'>): boolean {
  return status === 'done' || status === 'failed' || status === 'aborted' || status === 'cancelled';
}

/** The step that was begun and has not ended, or about which nobody knows. */
export function openStep({ steps }: Pick<RunState, 'steps'>): number {
  return steps.findIndex(({ status }) => status === 'running' || status === 'in-doubt');
}

/** The next state, the same one where the move was made before, or undefined where it cannot be made. */
export function moveRun(run: RunState, move: RunMove): RunState | undefined {
  switch (move.type) {
    case 'taken':
      return taken(run, move);
    case 'renewed':
      if (!isHeld(run, move.by)) return undefined;
      return { ...run, owner: { ...run.owner!, untilMs: move.untilMs } };
    case 'released':
      return isHeld(run, move.by) ? without(run, 'owner') : run;
    case 'admitted':
      if (run.admitted) return run;
      return isHeld(run, move.by) ? { ...run, admitted: true } : undefined;
    case 'asked':
      if (!isHeld(run, move.by)) return undefined;
      if (run.card === move.card && run.status === 'waiting') return run;
      return { ...run, status: 'waiting', card: move.card };
    case 'answered': {
      if (!isHeld(run, move.by)) return undefined;
      const { approved } = move;
      const isNew = approved !== undefined && !run.approved.some(({ rules }) => sameRules(rules, approved.rules));
      if (run.status === 'running' && !isNew) return run;
      return { ...run, status: 'running', approved: isNew ? [...run.approved, approved] : run.approved };
    }
    case 'begun': {
      const step = run.steps[move.step];
      if (step === undefined || !isHeld(run, move.by)) return undefined;
      if (step.status === 'running' && step.attempts === move.attempt) return run;
      if (!isNext(run, move.step) || step.attempts !== move.attempt - 1) return undefined;
      const next = withStep(run, move.step, { status: 'running', attempts: move.attempt, startedWallMs: move.wallMs });
      return { ...without(next, 'card'), status: 'running' };
    }
    case 'finished': {
      const state = { status: 'done', endedWallMs: move.wallMs, outputBytes: move.outputBytes } as const;
      return settled(run, move, state, (next) => ({ ...next, status: 'running' }));
    }
    case 'failed': {
      const state = { status: 'failed', endedWallMs: move.wallMs, reason: move.end.message } as const;
      return settled(run, move, state, (next) => closed(next, 'failed', move.wallMs, move.end));
    }
    case 'skipped': {
      const step = run.steps[move.step];
      if (step?.status === 'skipped') return run;
      if (!isNext(run, move.step) || !isHeld(run, move.by)) return undefined;
      const reason = move.reason.slice(0, skipReasonMax);
      return {
        ...withStep(run, move.step, { status: 'skipped', endedWallMs: move.wallMs, reason }),
        status: 'running',
      };
    }
    case 'ended':
      if (run.owner === undefined && run.status === move.status) return run;
      return isHeld(run, move.by) ? closed(run, move.status, move.wallMs, move.end) : undefined;
    case 'cancelled':
      if (isOver(run)) return run.status === 'cancelled' ? run : undefined;
      return closed(run, 'cancelled', move.wallMs, move.end);
    case 'resolved':
      return resolved(run, move);
  }
}

function taken(run: RunState, { owner, over }: Extract<RunMove, { type: 'taken' }>): RunState | undefined {
  if (run.owner?.process === owner.process) return run;
  if (isOver(run) || run.status === 'in-doubt') return undefined;
  if (run.owner?.process !== over?.process || run.owner?.untilMs !== over?.untilMs) return undefined; // It lives.
  const { end: _, endedWallMs: __, ...rest } = run;
  const at = openStep(run);
  if (at < 0) return { ...rest, status: 'running', owner };
  if (run.chain.steps[at]?.idempotent) {
    return { ...withStep(rest, at, { status: 'pending' }), status: 'running', owner };
  }
  const reason = 'its process ended while it ran: nobody knows whether it was done';
  return { ...without(withStep(rest, at, { status: 'in-doubt', reason }), 'owner'), status: 'in-doubt' };
}

/** How a step ended that ran: who runs it says so, or who ran it when others had given it up already. */
function settled(
  run: RunState,
  move: { readonly by: string; readonly step: number; readonly attempt: number },
  state: Partial<StepState> & Pick<StepState, 'status'>,
  after: (run: RunState) => RunState,
): RunState | undefined {
  const step = run.steps[move.step];
  if (step === undefined || step.attempts !== move.attempt) return undefined;
  if (step.status === state.status) return run;
  if (step.status !== 'running' && step.status !== 'in-doubt') return undefined;
  const { reason: _, ...known } = step;
  const next = { ...run, steps: run.steps.map((each, at) => (at === move.step ? { ...known, ...state } : each)) };
  if (isOver(run)) return next; // It was cancelled meanwhile, and stays so.
  if (run.status === 'in-doubt') return after(next); // It is known now.
  return isHeld(run, move.by) ? after(next) : undefined;
}

function closed(run: RunState, status: RunState['status'], wallMs: number, end: RunEnd | undefined): RunState {
  const at = openStep(run);
  const reason = 'the run was stopped while it ran: nobody knows whether it was done';
  const known = at < 0 ? run : withStep(run, at, { status: 'in-doubt', reason });
  return { ...without(without(known, 'owner'), 'card'), status, endedWallMs: wallMs, ...(end && { end }) };
}

function resolved(run: RunState, { how, outputBytes, wallMs }: Extract<RunMove, { type: 'resolved' }>) {
  const at = openStep(run);
  if (run.status !== 'in-doubt' || at < 0) return undefined;
  const { reason: _, ...step } = run.steps[at]!;
  const next: StepState =
    how === 'done' ? { ...step, status: 'done', endedWallMs: wallMs, outputBytes } : { ...step, status: 'pending' };
  const steps = run.steps.map((each, index) => (index === at ? next : each));
  return { ...run, steps, status: 'running' } as const;
}

/** Whether the step is the one that comes now: all before it are over. */
function isNext({ steps }: RunState, at: number): boolean {
  return (
    steps.findIndex(({ status }) => status !== 'done' && status !== 'skipped') === at && steps[at]!.status === 'pending'
  );
}

/** Whether a run is that one's to change. */
function isHeld(run: RunState, by: string): boolean {
  return run.owner?.process === by;
}

function withStep<R extends Pick<RunState, 'steps'>>(run: R, at: number, change: Partial<StepState>): R {
  return { ...run, steps: run.steps.map((step, index) => (index === at ? { ...step, ...change } : step)) };
}

function without<R extends RunState, K extends 'owner' | 'card'>(run: R, key: K): R {
  const { [key]: _, ...rest } = run;
  return rest as R;
}

/** The same set of rules; both are sorted. */
export function sameRules(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((rule, at) => rule === others[at]);
}
