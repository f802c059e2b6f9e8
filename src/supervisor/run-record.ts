/**
 * A run as the store keeps it: what is needed to go on with it in another process, after the machine was started anew.
 * It holds the command line and never the environment; it goes when the run is over.
 */

import { hostname } from 'node:os';
import { agentRunKeepMs, agentRunsMax } from '../core/limits.ts';
import type { TaskSettings } from '../core/settings.ts';
import type { CarriedTask } from '../guard/internal.ts';
import type { Cell, Store } from '../ports/store.ts';
import { findProcess, readBootId } from './process-table.ts';

/** Limits that are not those of the run, by the name of the subagent. */
export type SubagentLimits = Readonly<Record<string, TaskSettings>>;

/** The process that watches over a run. */
export interface SupervisorProcess {
  readonly machine: string;
  readonly boot: string;
  readonly pid: number;
  readonly began: string;
}

export interface RunRecord {
  readonly task: string;
  readonly agent: string;
  readonly session: string;
  /** The command as it was given, with what was said before it, and where. */
  readonly command: readonly string[];
  readonly options: readonly string[];
  readonly cwd: string;
  /** The agent's own conversation, once it is known: some agents can go on with it. */
  readonly conversation?: string;
  /** `waiting`: it was halted and its process asks what to do. `paused` and `halted`: nobody has it in hand. */
  readonly state: 'running' | 'waiting' | 'paused' | 'halted' | 'lost';
  readonly owner: SupervisorProcess;
  /** What the task had used, and its limits. */
  readonly carried?: CarriedTask;
  /** Limits of subagents that were halted, raised, by their names. */
  readonly below?: SubagentLimits;
  /** The card that asks about it. */
  readonly card?: string;
  /** The new prompt, where somebody narrowed the work. */
  readonly prompt?: string;
}

const prefix = 'agent-run/';

export function describeThisProcess(): SupervisorProcess {
  const { pid } = process;
  return { machine: hostname(), boot: readBootId(), pid, began: findProcess(pid)?.began ?? '' };
}

/** Whether the owner lives. What runs on another machine is believed to: only that one can know. */
export function isAlive({ machine, boot, pid, began }: SupervisorProcess): boolean {
  if (machine !== hostname()) return true;
  return boot === readBootId() && findProcess(pid)?.began === began;
}

/** Every run that the store knows of. */
export async function readRuns({ shared }: Store): Promise<readonly RunRecord[]> {
  const stored = (await shared?.read(prefix, agentRunsMax)) ?? [];
  return stored.flatMap(({ state }) => (state === null ? [] : [state as RunRecord]));
}

export function findRun(store: Store, task: string): RunRecord | undefined {
  store.shared?.refresh();
  return runCell(store, task).state ?? undefined;
}

/** A run as it is written now, for a process that looks once. */
export async function readStoredRun({ shared }: Store, task: string): Promise<RunRecord | undefined> {
  const [row] = (await shared?.read(prefix + task, 1)) ?? [];
  return row?.key === prefix + task ? ((row.state as RunRecord | null) ?? undefined) : undefined;
}

/** Writes a run. One that is too long for a cell is kept without its command, and says so when it should go on. */
export function writeRun(store: Store, record: RunRecord): void {
  const cell = runCell(store, record.task);
  const write = (state: RunRecord) =>
    store.shared?.commitNow({ changes: [{ cell, update: () => ({ state }) } as never], queueIfUnavailable: true });
  const result = write(record);
  if (result?.status === 'rejected' && result.by === 'full') write({ ...record, command: [], options: [] });
}

/** Changes a run if it is still as `from` says; false where somebody was faster. */
export async function transitionRun(
  store: Store,
  task: string,
  from: RunRecord['state'],
  to: Partial<RunRecord>,
): Promise<boolean> {
  const cell = runCell(store, task);
  const update = (state: RunRecord | null) =>
    state === null || state.state !== from ? 'refuse' : { state: { ...state, ...to } };
  return (await store.shared?.commit({ changes: [{ cell, update } as never] }))?.status === 'committed';
}

export function deleteRun(store: Store, task: string): void {
  store.drop(prefix + task);
}

function runCell(store: Store, task: string): Cell<RunRecord | null> {
  return store.cell<RunRecord | null>(prefix + task, () => null, { keepMs: agentRunKeepMs });
}
