/** What a gear needs to have a breaker in common with other processes. */

import type { Action } from '../core/action.ts';
import type { Control } from '../core/control.ts';
import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { DelegationState } from '../core/controls/delegation/delegation.ts';
import type { Entry, EntryBody, EntryPlace } from '../core/event.ts';
import type { BreakerSettings, DelegationSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { Cell, CellOptions } from './store.ts';

/** One breaker, in its control's place: what it learns, the others learn. */
export interface SharedBreaker extends Control<BreakerState> {
  /**
   * What only the store can grant, asked for after everybody allowed: true = this call holds a probe, false = it needs
   * none. A stop that waits comes back: the request is out.
   */
  acquireProbe(action: Action, atMs: number): boolean | Stop;
  /** A hand on it: the step is the change, wherever the breaker lies. */
  change(update: (state: BreakerState) => void, atMs: number): void;
}

export interface BreakerSharing {
  /** How the cell of a breaker is looked at, and healed. */
  readonly cell: CellOptions<BreakerState>;
  /** The shared control of a cell. `say` hears what was written into the journal because of it. */
  bind(
    control: Control<BreakerState>,
    cell: Cell<BreakerState>,
    settings: BreakerSettings,
    name: string,
    onEntry: (entry: Entry) => void,
  ): SharedBreaker;
}

/** What a gear needs to count the failures of a worker in a session together with other processes. */
export interface WorkerSharing {
  /** How the cell of a worker is looked at, healed and kept. */
  readonly cell: CellOptions<DelegationState>;
  /** The shared control of a cell. A failure that came back is noted at the place, and heard of once it is written. */
  bind(
    control: Control<DelegationState>,
    cell: Cell<DelegationState>,
    settings: DelegationSettings,
    place: EntryPlace,
    publisher: EntryPublisher,
  ): Control<DelegationState>;
}

/** The rules of a gear, in their control's place: what they count, all processes count together. */
export interface SharedRules extends Control {
  /** Marks a call in the windows it counts in, after everybody allowed; or what a rule says to one too many. */
  countCall(action: Action, atMs: number): Stop | undefined;
}

export interface RuleSharing {
  /** The shared control of a gear's rules; windows of calls belong to its project. */
  bind(control: Control, project: string): SharedRules;
}

/** How a gear tells: what of an entry may be kept, and what it says where it was written, in full. */
export interface EntryPublisher {
  redact(body: EntryBody): EntryBody;
  publish(entry: Entry, body: EntryBody): void;
}
