/** The interfaces of breakers, worker counts and rule counts that processes share. */

import type { Action } from '../core/action.ts';
import type { Control } from '../core/control.ts';
import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { DelegationState } from '../core/controls/delegation/delegation.ts';
import type { Entry, EntryBody, EntryPlace } from '../core/event.ts';
import type { BreakerSettings, DelegationSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { Cell, CellOptions } from './store.ts';

/** A breaker control whose state all processes of a store share. */
export interface SharedBreaker extends Control<BreakerState> {
  /**
   * Acquires a probe after all controls allowed the action: true = the action holds a probe, false = it needs none.
   * Returns a stop of kind 'wait' while a request to the store is pending.
   */
  acquireProbe(action: Action, atMs: number): boolean | Stop;
  /** Changes the stored state of the breaker. */
  change(update: (state: BreakerState) => void, atMs: number): void;
}

/** Creates shared breakers. */
export interface BreakerSharing {
  /** How the cell of a breaker is adopted and joined. */
  readonly cell: CellOptions<BreakerState>;
  /** Returns the shared control of a cell; `onEntry` gets the entries that its transactions wrote. */
  bind(
    control: Control<BreakerState>,
    cell: Cell<BreakerState>,
    settings: BreakerSettings,
    name: string,
    onEntry: (entry: Entry) => void,
  ): SharedBreaker;
}

/** Creates shared failure counts of workers in a session. */
export interface WorkerSharing {
  /** How the cell of a worker is adopted, joined and retained. */
  readonly cell: CellOptions<DelegationState>;
  /**
   * Returns the shared control of a cell; each failure gets an entry, and the publisher gets stored entries. Without a
   * publisher a failure is counted only.
   */
  bind(
    control: Control<DelegationState>,
    cell: Cell<DelegationState>,
    settings: DelegationSettings,
    place: EntryPlace,
    publisher: EntryPublisher | undefined,
  ): Control<DelegationState>;
}

/** A rules control whose counts all processes of a store share. */
export interface SharedRules extends Control {
  /** Marks a call in its windows after all controls allowed it; returns a stop if a window is full. */
  countCall(action: Action, atMs: number): Stop | undefined;
}

/** Creates shared rule counts. */
export interface RuleSharing {
  /** Returns the shared control of a gear's rules; windows of calls belong to the project. */
  bind(control: Control, project: string): SharedRules;
}

/** How a gear publishes entries: the redacted body is stored, the full body goes to listeners in this process. */
export interface EntryPublisher {
  redact(body: EntryBody): EntryBody;
  publish(entry: Entry, body: EntryBody): void;
}
