/** What hooks know of a session between two processes: one small cell for it, and one for each of its tasks. */

import type { Permit } from '../../core/action.ts';
import { cellKey } from '../../core/cell-key.ts';
import type { FrozenTask } from '../../guard/internal.ts';
import type { ReadMark } from '../spend/transcript.ts';

export interface SessionState {
  /** The hook whose turn it is, and until when it is believed to live. */
  readonly turn: { readonly owner: string; readonly untilMs: number } | null;
  /** The task at hand, and how many there were. */
  readonly task: string | null;
  readonly tasks: number;
  /** Earlier ones that ended for the person, but have subagents out. */
  readonly older: readonly string[];
  /** Fingerprints of prompts. */
  readonly prompts: readonly number[];
  readonly agents: Readonly<Record<string, SessionSubagent>>;
  readonly errands: Readonly<Record<string, PendingDelegation>>;
  /** How far the files are read that say what was used, by subagent; the empty name is the main one. */
  readonly read?: Readonly<Record<string, ReadMark>>;
  /** How subagents came back of which nobody knows yet who sent them. */
  readonly returned: Readonly<Record<string, SubagentReturn>>;
}

/** A subagent that is out. */
export interface SessionSubagent {
  readonly task: string;
  readonly root: string;
  readonly type: string;
  /** The call that sent it out, once that is known. */
  readonly errand: string | null;
}

/** A call that sent a subagent out. */
export interface PendingDelegation {
  readonly worker: string;
  readonly type: string;
  /** The task that sent it. */
  readonly task: string;
  /** Who went, where that was told before it was heard of. */
  readonly agent: string | null;
  readonly permit: Permit;
}

/** How a subagent came back, and whether a failure was booked below it. */
export interface SubagentReturn {
  readonly failed: boolean;
  readonly reason: string;
  readonly isBooked: boolean;
}

export const emptySession: SessionState = {
  turn: null,
  task: null,
  tasks: 0,
  older: [],
  prompts: [],
  agents: {},
  errands: {},
  returned: {},
};

/** A task, with its calls that are out and the answers that were given. */
export interface HookTask {
  readonly frozen: FrozenTask;
  /** Which model turn it is in, where the host tells turns apart. */
  readonly round: number;
  readonly open: readonly OpenHookCall[];
  readonly answers: readonly RecordedAnswer[];
}

export interface OpenHookCall {
  readonly id: string;
  readonly name: string;
  readonly isShared: boolean;
  readonly permit: Permit;
}

/** What was answered under an id: a host that asks again gets the same. */
export interface RecordedAnswer {
  readonly id: string;
  readonly kind: 'ask' | 'deny' | 'halt';
  readonly reason: string;
}

export function sessionKey(session: string): string {
  return cellKey('hook', session);
}

export function taskKey(session: string, task: string): string {
  return cellKey('hook', session, task);
}
