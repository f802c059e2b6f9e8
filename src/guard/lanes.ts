/** What one target needs in one task, resolved once: the panel, the breaker, the settings. */

import type { Panel } from '../core/decide.ts';
import type { EntryPlace } from '../core/event.ts';
import type { BreakerEntry, Target } from './targets.ts';
import type { TaskNode } from './task-node.ts';

export interface Lane {
  readonly target: Target;
  readonly task: TaskNode | undefined;
  readonly panel: Panel;
  /** How many seats of the panel come before those of the task, which a reload may have made anew. */
  readonly sharedSeats: number;
  readonly breaker: BreakerEntry | undefined;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  /** Where its entries belong. */
  readonly place: EntryPlace;
  readonly agent: string;
  readonly session: string;
  /** The settings it was made from: another number means that it has to be made again. */
  readonly epoch: number;
}
