/** The interface of published tasks: task states that other processes read, and the liveness of their owners. */

import type { DeadlineState } from '../core/controls/deadline.ts';
import type { TaskCells } from '../core/controls/panel.ts';
import type { Entry } from '../core/event.ts';
import type { Refusal } from '../core/refusal.ts';
import type { TaskSettings } from '../core/settings.ts';
import type { Clock } from './clock.ts';
import type { MetricLayer } from './process-counts.ts';
import type { Store } from './store.ts';

/** The stored state of a running task. */
export interface LiveTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  /** The process that runs the task. */
  readonly owner: string;
  /** The layer of the gear that runs the task; absent if an older version published it. */
  readonly layer?: MetricLayer;
  readonly state: 'running' | 'paused' | 'halted' | 'lost';
  readonly startedAtMs: number;
  readonly startedWallMs: number;
  readonly calls: number;
  readonly tokens: number;
  readonly micros: number;
  /** The limits in force: those of the settings, or those to which a person raised them. */
  readonly limits: TaskSettings;
  /** The clocks of the task when it was published; absent if an older version published it. */
  readonly clocks?: DeadlineState;
  /** The code and message of the halt. */
  readonly halt?: { readonly code: string; readonly message: string };
}

/** The time until which a process counts as alive; the process renews it after a third of the lease. */
export interface ProcessLiveness {
  readonly untilMs: number;
  /** The layer of the gear that renewed it last; absent if an older version did. */
  readonly layer?: MetricLayer;
}

/** The key prefix of published tasks. */
export const livePrefix = 'live/';
/** The key prefix of process liveness cells. */
export const ownerPrefix = 'owner/';

/** The part of a task that is published. */
export interface PublishedTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent: PublishedTask | undefined;
  readonly limits: TaskSettings;
  readonly halt: Refusal | undefined;
  readonly cells: Pick<TaskCells, 'budget' | 'deadline'>;
}

/** The part of a gear that task publishing uses. */
export interface PublishedGear {
  readonly tasks: ReadonlyMap<string, PublishedTask>;
  readonly store: Store;
  readonly clock: Clock;
  readonly layer: MetricLayer;
}

/** Publishes the tasks of a gear; it gets every entry and every sweep. */
export interface TaskPublisher {
  onEntry(entry: Entry): void;
  sweep(atMs: number): void;
}
