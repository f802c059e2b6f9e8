/** Tasks as other processes see them: what their own process wrote down last, and whether that process still lives. */

import type { TaskCells } from '../core/controls/panel.ts';
import type { Entry } from '../core/event.ts';
import type { Refusal } from '../core/refusal.ts';
import type { TaskSettings } from '../core/settings.ts';
import type { Clock } from './clock.ts';
import type { Store } from './store.ts';

/** What is stored of a task while it runs. */
export interface LiveTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  /** The process that runs it. */
  readonly owner: string;
  readonly state: 'running' | 'paused' | 'halted' | 'lost';
  readonly startedAtMs: number;
  readonly startedWallMs: number;
  readonly calls: number;
  readonly tokens: number;
  readonly micros: number;
  readonly limits: TaskSettings;
  /** Why it was halted. */
  readonly halt?: { readonly code: string; readonly message: string };
}

/** Until when a process is believed to live; it says so again long before. */
export interface ProcessLiveness {
  readonly untilMs: number;
}

/** Live tasks and their owners are cells under these prefixes. */
export const livePrefix = 'live/';
export const ownerPrefix = 'owner/';

/** A task as far as it is shown. */
export interface PublishedTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent: PublishedTask | undefined;
  readonly limits: TaskSettings;
  readonly halt: Refusal | undefined;
  readonly cells: Pick<TaskCells, 'budget' | 'deadline'>;
}

/** A gear whose tasks are shown. */
export interface PublishedGear {
  readonly tasks: ReadonlyMap<string, PublishedTask>;
  readonly store: Store;
  readonly clock: Clock;
}

/** What shows the tasks of a gear: told of every entry, and of every sweep. */
export interface TaskPublisher {
  onEntry(entry: Entry): void;
  sweep(atMs: number): void;
}
