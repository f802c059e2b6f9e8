/** A run that this process owns: its last written state, and how transitions are written. */

import type { EntryBody } from '../../../core/event.ts';
import { storeRetryMinMs } from '../../../core/limits.ts';
import { wait } from '../../../platform/system-clock.ts';
import type { Approver } from '../../../ports/approver.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Store } from '../../../ports/store.ts';
import type { Ability } from '../../abilities/ability.ts';
import type { RunQuestion } from '../approval/run-question.ts';
import type { RunEvent } from '../state/run-event.ts';
import type { RunState } from '../state/run-state.ts';
import type { RunTransition } from '../state/transitions.ts';
import { type RunWriteExtras, type RunWriteResult, updateRun } from './runs.ts';
import type { EntryListener } from './values.ts';

/** A run that this process owns. */
export interface ActiveRun {
  readonly store: Store;
  readonly clock: Clock;
  readonly approver: Approver | undefined;
  /** Whether the run waits for answers; if false, an unanswered question stays in the store and the run is released. */
  readonly wait: boolean;
  /** The owner of the run. */
  readonly by: string;
  readonly signal: AbortSignal;
  run: RunState;
  readonly question: RunQuestion;
  /** The abilities of the steps that are not done, by name. */
  readonly abilities: ReadonlyMap<string, Ability>;
  /** Whether this process must stop: another process owns the run, or the run was cancelled. */
  lost: boolean;
  emit(event: RunEvent): void;
  onEntry: EntryListener;
}

/** Writes a transition. If another process owns the run, the run is lost for this attempt. */
export async function writeTransition(
  active: ActiveRun,
  transition: RunTransition,
  extras: RunWriteExtras = {},
): Promise<RunWriteResult> {
  const result = await updateRun(active.store, active.run, transition, extras, active.onEntry);
  // A lease renewal changes nothing else, and must not overwrite a later state.
  if (result.status === 'committed')
    active.run = transition.type === 'renewed' ? { ...active.run, ...pickOwner(result.run) } : result.run;
  else if (result.status === 'rejected' && !result.full) active.lost = true;
  return result;
}

function pickOwner({ owner }: RunState): Pick<RunState, 'owner'> {
  return owner === undefined ? {} : { owner };
}

/** Writes a transition, and retries for a bounded time while the store is unreachable; reports the wait once. */
export async function writeTransitionWithin(
  active: ActiveRun,
  withinMs: number,
  transition: RunTransition,
  extras: RunWriteExtras = {},
  signal?: AbortSignal,
): Promise<RunWriteResult> {
  const untilMs = active.clock.nowMs() + withinMs;
  let isReported = false;
  for (;;) {
    const result = await writeTransition(active, transition, extras);
    if (result.status !== 'unavailable') {
      if (isReported) active.emit({ type: 'store-back', run: active.run.id });
      return result;
    }
    if (!isReported) active.emit({ type: 'store-away', run: active.run.id, reason: result.reason });
    isReported = true;
    if (active.clock.nowMs() >= untilMs || signal?.aborted) return result;
    await wait(active.clock, storeRetryMinMs, signal);
  }
}

/** Creates the journal entry for a finished step. */
export function makeStepEnded(run: string, step: string, status: string): EntryBody {
  return { type: 'step-ended', run, step, status };
}
