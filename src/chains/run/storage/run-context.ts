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
import type { CardChange, Tell } from './values.ts';

export interface Desk {
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
  answered: string | undefined;
  /** A question is open and nobody waits for it here. */
  parked: boolean;
  /** Why it cannot go on here: somebody else has it now, or it was cancelled. */
  lost: boolean;
  show(event: RunEvent): void;
  tell: Tell;
}

/** Writes a move. A run that somebody else has is lost for this attempt. */
export async function write(desk: Desk, move: RunMove, beside: Beside = {}): Promise<Moved> {
  const moved = await keepMove(desk.store, desk.run, move, beside, desk.tell);
  // A sign of life changes nothing else, and must not hide what was written after it.
  if (moved.status === 'committed')
    desk.run = move.type === 'renewed' ? { ...desk.run, ...ownerOf(moved.run) } : moved.run;
  else if (moved.status === 'rejected' && !moved.full) desk.lost = true;
  return moved;
}

function ownerOf({ owner }: RunState): Pick<RunState, 'owner'> {
  return owner === undefined ? {} : { owner };
}

/** Writes a move however long the store is away, up to a time; it says so once. */
export async function writeWithin(
  desk: Desk,
  withinMs: number,
  move: RunMove,
  beside: Beside = {},
  signal?: AbortSignal,
): Promise<Moved> {
  const untilMs = desk.clock.nowMs() + withinMs;
  let told = false;
  for (;;) {
    const moved = await write(desk, move, beside);
    if (moved.status !== 'unavailable') {
      if (told) desk.show({ type: 'store-back', run: desk.run.id });
      return moved;
    }
    if (!told) desk.show({ type: 'store-away', run: desk.run.id, reason: moved.reason });
    told = true;
    if (desk.clock.nowMs() >= untilMs || signal?.aborted) return moved;
    await wait(desk.clock, storeRetryMinMs, signal);
  }
}

/** The card that was answered, used up by what goes with it. */
export function useOf(desk: Desk): Pick<Beside, 'card'> {
  const { answered } = desk;
  if (answered === undefined) return {};
  const card: CardChange = {
    id: answered,
    step: (stored) => (stored?.state === 'answered' ? { ...stored, state: 'used' } : stored),
  };
  return { card };
}

/** The entry that a step is over. */
export function stepEnded(run: string, step: string, status: string): EntryBody {
  return { type: 'step-ended', run, step, status };
}
