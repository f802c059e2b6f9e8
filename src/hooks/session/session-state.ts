/** The state of a session between two hooks: one small cell for the session, and one for each task. */

import type { Permit } from '../../core/action.ts';
import { cellKey } from '../../core/cell-key.ts';
import type { FrozenTask } from '../../guard/internal.ts';
import type { ReadMark } from '../spend/transcript.ts';

export interface SessionState {
  /** The hook that holds the lock of the session, and the end of its lease. */
  readonly lock: { readonly owner: string; readonly untilMs: number } | null;
  /** The current task, and the number of tasks so far. */
  readonly task: string | null;
  readonly tasks: number;
  /** Earlier tasks that have ended but still have running subagents. */
  readonly older: readonly string[];
  /** The processes that ran hooks of the session. */
  readonly hosts?: readonly SessionHost[];
  /** How the host launches its hooks, and whether it has made a call since; then other launches are those of tools. */
  readonly launches?: readonly number[];
  readonly isLearned?: boolean;
  /** The sessions of the agents below which the host runs. */
  readonly outer?: readonly OuterSession[];
  /** Whether the end of the session came while a call was running. */
  readonly isEnding?: boolean;
  /** The last prompt that came while a call was running, or that the session file did not contain. */
  readonly early?: EarlyPrompt;
  /** The session file of the conversation, as the host named it first, and its size at the last new task. */
  readonly transcript?: SessionTranscript;
  /** Fingerprints of prompts. */
  readonly prompts: readonly number[];
  readonly agents: Readonly<Record<string, SessionSubagent>>;
  /** Delegations whose end has not come, by the id of the call. */
  readonly delegations: Readonly<Record<string, PendingDelegation>>;
  /** The read positions of session files, by subagent; the empty name is the main agent. */
  readonly read?: Readonly<Record<string, ReadMark>>;
  /** The policy that the session began with; absent until its first event. */
  readonly policy?: SessionPolicy;
  /** The tasks of open questions, by card. */
  readonly questions?: Readonly<Record<string, string>>;
  /** The results of subagents whose starting call is not known yet. */
  readonly returned: Readonly<Record<string, SubagentReturn>>;
}

/** The policy of a session. */
export interface SessionPolicy {
  /** The policy file and variables that the last hook found, and the settings in force, by their digests. */
  readonly seen: string;
  readonly base: string;
  /** The wall time since when these settings are in force. */
  readonly atMs: number;
}

/** A prompt of which it is not known yet whether a person typed it. */
export interface EarlyPrompt {
  readonly isPending: boolean;
  /** The size of the session file when the prompt came; null if unknown. */
  readonly atBytes: number | null;
  /** How often the prompt was not found in the session file. */
  readonly looks?: number;
  /** The prompts since the last new task that no person seems to have typed. */
  readonly dropped: number;
}

/** A session whose agent started the agent of this one. */
export interface OuterSession {
  /** The key of its state. */
  readonly conversation: string;
  readonly session: string;
}

/** A session file in which prompts are looked for. */
export interface SessionTranscript {
  readonly path: string;
  readonly promptBytes?: number | undefined;
}

/** A process that runs hooks. */
export interface SessionHost {
  readonly pid: number;
  readonly began: string;
  /** When the store recorded it last. */
  readonly atMs?: number;
}

/** A running subagent. */
export interface SessionSubagent {
  readonly task: string;
  readonly root: string;
  readonly type: string;
  /** The call that started the subagent, once known. */
  readonly delegation: string | null;
}

/** A call that started a subagent. */
export interface PendingDelegation {
  readonly worker: string;
  readonly type: string;
  /** The task of the call. */
  readonly task: string;
  /** The subagent, if it is already known. */
  readonly agent: string | null;
  readonly permit: Permit;
  readonly mark?: string | undefined;
}

/** The result of a subagent, and whether a nested failure was counted. */
export interface SubagentReturn {
  readonly failed: boolean;
  readonly reason: string;
  readonly isBooked: boolean;
}

export const emptySession: SessionState = {
  lock: null,
  task: null,
  tasks: 0,
  older: [],
  prompts: [],
  agents: {},
  delegations: {},
  returned: {},
};

/** Whether no hook has counted anything of the session yet. */
export function isFirstSeen({ tasks, prompts, read }: SessionState): boolean {
  return tasks === 0 && prompts.length === 0 && read === undefined;
}

/** The stored form of a session. Its keys are part of the stored data: `turn` is the lock, an errand a delegation. */
export interface StoredSession extends Omit<SessionState, 'lock' | 'agents' | 'delegations'> {
  readonly turn: SessionState['lock'];
  readonly agents: Readonly<Record<string, StoredSubagent>>;
  readonly errands: SessionState['delegations'];
}

interface StoredSubagent extends Omit<SessionSubagent, 'delegation'> {
  readonly errand: SessionSubagent['delegation'];
}

/** The state of a stored session. */
export function readSession({ turn, agents, errands, ...others }: StoredSession): SessionState {
  const readAgent = ({ errand, ...agent }: StoredSubagent): SessionSubagent => ({ ...agent, delegation: errand });
  return { ...others, lock: turn, agents: mapValues(agents, readAgent), delegations: errands };
}

/** The stored form of a state. */
export function storeSession({ lock, agents, delegations, ...others }: SessionState): StoredSession {
  const storeAgent = ({ delegation, ...agent }: SessionSubagent): StoredSubagent => ({ ...agent, errand: delegation });
  return { ...others, turn: lock, agents: mapValues(agents, storeAgent), errands: delegations };
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A) => B): Readonly<Record<string, B>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** A stored task with its open calls and given answers. */
export interface HookTask {
  readonly frozen: FrozenTask;
  /** The number of the model turn, if the host reports turns. The key is part of the stored data. */
  readonly round: number;
  readonly open: readonly OpenHookCall[];
  readonly answers: readonly RecordedAnswer[];
}

export interface OpenHookCall {
  readonly id: string;
  readonly name: string;
  readonly isShared: boolean;
  /** The name of the tool for a proxy, if the host has another one. */
  readonly proxyName?: string | undefined;
  readonly permit: Permit;
  /** The mark of tool and input; another input under the same id is another call. */
  readonly mark?: string | undefined;
  /** Whether another process than the host proposed it. */
  readonly isForeign?: boolean;
  /** The edit of a person with which it was approved. */
  readonly edit?: OpenCallEdit;
}

/** The edit of a call, whose `mark` is that of the input before. The edited input is sealed with the card. */
export interface OpenCallEdit {
  readonly card: string;
  /** The mark of the tool and the edited input. */
  readonly mark?: string | undefined;
  /** The fingerprint of the call before: a host without call ids may report either input with the result. */
  readonly fingerprint: number;
}

/** The answer to a call; a host that asks again about the same call gets the same answer. */
export interface RecordedAnswer {
  readonly id: string;
  readonly mark?: string | undefined;
  readonly kind: 'ask' | 'deny' | 'halt';
  readonly reason: string;
  /** The model turn of the answer. */
  readonly turn?: number;
}

export function sessionKey(session: string): string {
  return cellKey('hook', session);
}

export function taskKey(session: string, task: string): string {
  return cellKey('hook', session, task);
}
