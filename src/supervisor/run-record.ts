/**
 * The stored record of a run, with which another process can continue it, even after a restart of the machine. It
 * contains the command line, encrypted, but not the environment, and is deleted when the run ends.
 */

import { hostname } from 'node:os';
import { agentRunKeepMs, agentRunsMax, hostSilenceMs } from '../core/limits.ts';
import type { TaskSettings } from '../core/settings.ts';
import { type CarriedTask, sealText, unsealText } from '../guard/internal.ts';
import type { Cell, Change, Store } from '../ports/store.ts';
import { findProcess, isBootIdCovered, type ProcessInfo, readBootId, readPidNamespace } from './process-table.ts';
import type { TreeMember } from './process-tree.ts';

/** Limits of subagents that differ from those of the run, by name. */
export type SubagentLimits = Readonly<Record<string, TaskSettings>>;

/** A process as a store records it. */
export interface RecordedProcess {
  readonly machine: string;
  readonly boot: string;
  /** The PID namespace, if the system has them. */
  readonly space?: string;
  readonly pid: number;
  readonly began: string;
}

export interface RunRecord {
  readonly task: string;
  readonly agent: string;
  readonly session: string;
  /** The command as given, and its options; both are empty in a store, which has them in `sealed`. */
  readonly command: readonly string[];
  readonly options: readonly string[];
  readonly sealed?: string;
  /** Whether the run only observes, so that its hooks refuse nothing. */
  readonly observes?: boolean;
  readonly cwd: string;
  /** The id of the agent's conversation, once known; some agents can resume it. */
  readonly conversation?: string;
  /** The wall time of the start. */
  readonly startedMs?: number;
  /** The time of its last write, in the time of the store; a running supervisor writes its record regularly. */
  readonly seenMs?: number;
  /** `waiting`: halted, and its process waits for an answer. `paused` and `halted`: no process runs it. */
  readonly state: 'running' | 'waiting' | 'paused' | 'halted' | 'lost';
  /** The supervisor. */
  readonly owner: RecordedProcess;
  /** The process of the agent, once it runs, and the variable that all its descendants inherit. */
  readonly agentProcess?: RecordedProcess;
  readonly mark?: string;
  /** The file in which proxies below count the calls of a program, of which no stream tells. */
  readonly calls?: string | undefined;
  /** Processes of the agent that no longer have that variable. */
  readonly members?: readonly TreeMember[];
  /** The variables with settings that the operator gave to the run, which its hooks inherit. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The id of the stored settings with which the run started; empty for the defaults. */
  readonly policy?: string;
  /** The counters and limits of the task. */
  readonly carried?: CarriedTask;
  /** Raised limits of halted subagents, by name. */
  readonly below?: SubagentLimits;
  /** The card of the halt. */
  readonly card?: string;
  /** The new prompt after `narrow`, encrypted. */
  readonly prompt?: string;
}

const prefix = 'agent-run/';

export function describeThisProcess(): RecordedProcess {
  const { pid } = process;
  return describeProcess({ pid, began: findProcess(pid)?.began ?? '' });
}

/** Describes a process of this machine. */
export function describeProcess({ pid, began }: Pick<ProcessInfo, 'pid' | 'began'>): RecordedProcess {
  return { machine: hostname(), boot: readBootId(), space: readPidNamespace(), pid, began };
}

/**
 * Whether the owner is alive. A process on another machine or in another PID namespace counts as alive, because it
 * cannot be checked here.
 */
export function isAlive(recorded: RecordedProcess): boolean {
  const { machine, pid, began } = recorded;
  if (machine !== hostname() || isOutOfSight(recorded)) return true;
  return isSameBoot(recorded) && findProcess(pid)?.began === began;
}

/** Whether a process cannot be looked up from here: it ran on another machine or in another PID namespace. */
function isOutOfSight(recorded: RecordedProcess): boolean {
  const { machine, space } = recorded;
  return machine !== hostname() || (space !== undefined && space !== readPidNamespace() && isSameBoot(recorded));
}

/** Whether the supervisor of a run is alive. A supervisor that is out of sight must have written its record lately. */
export function isSupervised({ owner, seenMs = 0 }: RunRecord, { clock }: Pick<Store, 'clock'>): boolean {
  return isAlive(owner) && !(isOutOfSight(owner) && clock.nowMs() - seenMs >= hostSilenceMs);
}

/** Whether a process ran since the last start of this machine; the host name can change within a container. */
export function isHere(recorded: RecordedProcess): boolean {
  return isSameBoot(recorded) && (recorded.boot !== '' || recorded.machine === hostname());
}

/**
 * Whether a process ran since the last start of its machine. A process can mount another file over the id of the
 * start. Then a running process with the recorded start time is the recorded one, and one that is out of sight may be.
 */
function isSameBoot({ boot, space, pid, began }: RecordedProcess): boolean {
  if (boot === readBootId()) return true;
  if (boot === '' || began === '') return false;
  return findProcess(pid)?.began === began || (space !== readPidNamespace() && isBootIdCovered());
}

/** Whether a recorded process is the given process of this machine. */
export function isSameProcess(recorded: RecordedProcess, { pid, began }: Pick<ProcessInfo, 'pid' | 'began'>): boolean {
  return recorded.pid === pid && recorded.began === began && isHere(recorded);
}

/** All stored runs. */
export async function readRuns({ shared }: Store): Promise<readonly RunRecord[]> {
  const stored = (await shared?.read(prefix, agentRunsMax)) ?? [];
  return stored.flatMap(({ state }) => (state === null ? [] : [state as RunRecord]));
}

export function findRun(store: Store, task: string): RunRecord | undefined {
  store.shared?.refresh();
  return runCell(store, task).state ?? undefined;
}

/** Reads the stored run of a task once. */
export async function readStoredRun({ shared }: Store, task: string): Promise<RunRecord | undefined> {
  const [row] = (await shared?.read(prefix + task, 1)) ?? [];
  return row?.key === prefix + task ? ((row.state as RunRecord | null) ?? undefined) : undefined;
}

/**
 * Writes a run, without its command before the agent runs, because encryption takes time to load. A command that is
 * too long for a cell is not stored, and the run cannot be continued.
 */
export function writeRun(store: Store, record: RunRecord): void {
  const cell = runCell(store, record.task);
  const write = (state: RunRecord) =>
    store.shared?.commitNow({ changes: [{ cell, update: () => ({ state }) } as never], queueIfUnavailable: true });
  const { sealed = sealCommand(store, record), ...rest } = record;
  const state = { ...rest, command: [], options: [], seenMs: store.clock.nowMs() };
  const result = write(sealed === undefined ? state : { ...state, sealed });
  if (result?.status === 'rejected' && result.by === 'full') write(state);
}

/** The command line of a run, encrypted: it may contain keys and prompts. */
function sealCommand(
  { shared }: Store,
  { task, state, agentProcess, command, options }: RunRecord,
): string | undefined {
  if (shared === undefined || shared.secret === '' || (state === 'running' && agentProcess === undefined))
    return undefined;
  return sealText(shared.secret, commandId(task), JSON.stringify({ command, options }));
}

/** A stored run with its command line, which is empty if the store does not have it. */
export function openStoredRun({ shared }: Store, { sealed, ...run }: RunRecord): RunRecord {
  const text = sealed === undefined ? undefined : unsealText(shared?.secret ?? '', commandId(run.task), sealed);
  return text === undefined ? run : { ...run, ...(JSON.parse(text) as Pick<RunRecord, 'command' | 'options'>) };
}

/** Reads the new prompt of a run that waits for an answer. */
export function readNewPrompt(store: Store, task: string): string | undefined {
  const prompt = findRun(store, task)?.prompt;
  return prompt === undefined ? undefined : unsealText(store.shared?.secret ?? '', promptId(task), prompt);
}

/** The ids that belong to what is encrypted, so that it cannot be moved to another run. */
function commandId(task: string): string {
  return `run-command/${task}`;
}

function promptId(task: string): string {
  return `run-prompt/${task}`;
}

/** Changes the state of a run if it is still `from`; returns false otherwise. */
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

/** The change that adds a new prompt to a run that waits for an answer, for the transaction of the answer. */
export function makePromptChange(store: Store, task: string, prompt: string): Change {
  const sealed = sealText(store.shared?.secret ?? '', promptId(task), prompt);
  const update = (state: RunRecord | null) =>
    state === null || state.state !== 'waiting' ? ('keep' as const) : { state: { ...state, prompt: sealed } };
  const change: Change<RunRecord | null> = { cell: runCell(store, task), update };
  return change as Change;
}

export function deleteRun(store: Store, task: string): void {
  store.drop(prefix + task);
}

function runCell(store: Store, task: string): Cell<RunRecord | null> {
  return store.cell<RunRecord | null>(prefix + task, () => null, { keepMs: agentRunKeepMs });
}
