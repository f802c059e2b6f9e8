/** What one attempt to run a run has in hand: the state as it was last written, and how the next one is written. */

import type { EntryBody } from '../../../core/event.ts';
import { storeRetryMinMs } from '../../../core/limits.ts';
import { wait } from '../../../platform/system-clock.ts';
import type { Approver } from '../../../ports/approver.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Store } from '../../../ports/store.ts';
import type { RunEvent } from '../state/run-event.ts';
import type { RunState } from '../state/run-state.ts';
import type { RunMove } from '../state/transitions.ts';
import { type Beside, keepMove, type Moved } from './runs.ts';
import type { CardChange, EntryListener } from './values.ts';

export interface ActiveRun {
  readonly store: Store;
  readonly clock: Clock;
  readonly approver: Approver | undefined;
  /** Whether it waits for answers; else the question stays in the store and the run is left. */
  readonly wait: boolean;
  /** Who runs it. */
  readonly by: string;
  readonly signal: AbortSignal;
  run: RunState;
  /** What is asked about, if a rule asks now; the step is empty for the run as a whole. */
  subject: { readonly step: string; readonly attempt: number; readonly args: unknown };
  /** Who approved what is about to happen, now or before. */
  approvedBy: string | undefined;
  /** The card that was answered with yes and is used up by what it approved. */
  answeredCard: string | undefined;
  /** A question is open and nobody waits for it here. */
  parked: boolean;
  /** Why it cannot go on here: somebody else has it now, or it was cancelled. */
  lost: boolean;
  emit(event: RunEvent): void;
  onEntry: EntryListener;
}

/** Writes a move. A run that somebody else has is lost for this attempt. */
export async function writeTransition(active: ActiveRun, move: RunMove, beside: Beside = {}): Promise<Moved> {
  const moved = await keepMove(active.store, active.run, move, beside, active.onEntry);
  // A sign of life changes nothing else, and must not hide what was written after it.
  if (moved.status === 'committed')
    active.run = move.type === 'renewed' ? { ...active.run, ...pickOwner(moved.run) } : moved.run;
  else if (moved.status === 'rejected' && !moved.full) active.lost = true;
  return moved;
}

function pickOwner({ owner }: RunState): Pick<RunState, 'owner'> {
  return owner === undefined ? {} : { owner };
}

/** Writes a move however long the store is away, up to a time; it says so once. */
export async function writeTransitionWithin(
  active: ActiveRun,
  withinMs: number,
  move: RunMove,
  beside: Beside = {},
  signal?: AbortSignal,
): Promise<Moved> {
  const untilMs = active.clock.nowMs() + withinMs;
  let isReported = false;
  for (;;) {
    const moved = await writeTransition(active, move, beside);
    if (moved.status !== 'unavailable') {
      if (isReported) active.emit({ type: 'store-back', run: active.run.id });
      return moved;
    }
    if (!isReported) active.emit({ type: 'store-away', run: active.run.id, reason: moved.reason });
    isReported = true;
    if (active.clock.nowMs() >= untilMs || signal?.aborted) return moved;
    await wait(active.clock, storeRetryMinMs, signal);
  }
}

/** The card that was answered, used up by what goes with it. */
export function useAnsweredCard(active: ActiveRun): Pick<Beside, 'card'> {
  const { answeredCard } = active;
  if (answeredCard === undefined) return {};
  const card: CardChange = {
    id: answeredCard,
    step: (stored) => (stored?.state === 'answered' ? { ...stored, state: 'used' } : stored),
  };
  return { card };
}

/** The entry that a step is over. */
export function makeStepEnded(run: string, step: string, status: string): EntryBody {
  return { type: 'step-ended', run, step, status };
}
