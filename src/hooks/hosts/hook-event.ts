/** The events and answers of hooks, in one form for all hosts. */

import type { Reader } from '../../agents/reading/reader.ts';
import { asSessionId } from '../../agents/reading/session-id.ts';
import type { Ending } from '../../core/classify.ts';
import { nameError } from '../../core/controls/loop/effect.ts';
import type { HookHalt } from '../../supervisor/hook-mailbox.ts';

/** A call that the host refused by itself. */
export interface RejectedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  readonly output: string;
}

interface EventOrigin {
  /** The host's id of the conversation. */
  readonly session: string;
  readonly cwd: string;
  /** The subagent of the event; absent = the main agent. */
  readonly agent?: string | undefined;
  readonly agentType?: string | undefined;
}

/** The session file of a conversation, its reader, and its model if the file does not contain it. */
export interface TranscriptFile {
  readonly path: string;
  readonly reader: () => Reader;
  readonly model?: string | undefined;
}

/** A prompt, typed by a person or inserted by the agent CLI. An inserted prompt continues the current task. */
export interface PromptEvent extends EventOrigin {
  readonly type: 'prompt';
  readonly text: string;
  readonly by: 'person' | 'harness';
  /** Subagents that the agent CLI reports as failed. */
  readonly failed?: readonly string[];
}

interface CallFields extends EventOrigin {
  /** The host's id of the call; absent if the host has none. */
  readonly id?: string | undefined;
  readonly tool: string;
  readonly input: unknown;
  /** The subagent that the call starts, if any. */
  readonly delegation?: Delegation | undefined;
  /** Whether the tool belongs to an MCP server, whose breaker all sessions share. */
  readonly isShared: boolean;
  /** The name of the tool in the form `mcp__server__tool`, if the host has another one for it. */
  readonly proxyName?: string | undefined;
}

export interface CallProposedEvent extends CallFields {
  readonly type: 'call-proposed';
}

/** The subagent that a call starts. */
export interface Delegation {
  readonly type: string;
  readonly prompt: string;
}

export interface CallEndedEvent extends CallFields {
  readonly type: 'call-ended';
  readonly ending: Ending | { readonly cancelled: true };
  /** The subagent that the call started, and whether it continues after the call. */
  readonly subagent?: { readonly agent: string; readonly isBackground: boolean } | undefined;
}

/** All calls of one model turn have ended. */
export interface BatchEndedEvent extends EventOrigin {
  readonly type: 'batch-ended';
  /** Calls that the host refused by itself, before any hook: an edit whose text is not in the file. */
  readonly rejected?: readonly RejectedCall[];
}

export interface SubagentEvent extends EventOrigin {
  readonly type: 'subagent-started' | 'subagent-ended';
  readonly agent: string;
}

/** The agent stopped. Some hosts report how much background work continues. */
export interface StoppedEvent extends EventOrigin {
  readonly type: 'stopped';
  readonly background: number | undefined;
}

export interface SessionLifecycleEvent extends EventOrigin {
  readonly type: 'session-started' | 'session-ended';
}

/** An event that hooks ignore. */
export interface OtherEvent {
  readonly type: 'other';
}

export type HookEvent =
  | PromptEvent
  | CallProposedEvent
  | CallEndedEvent
  | BatchEndedEvent
  | SubagentEvent
  | StoppedEvent
  | SessionLifecycleEvent
  | OtherEvent;

/** The answer of a hook. `halt` refuses this call and ends the run; `note` adds a text for the model to a result. */
export type HookDecision =
  | { readonly kind: 'pass' }
  | { readonly kind: 'note'; readonly text: string }
  /** The call runs with the input that a person approved in place of its own. */
  | { readonly kind: 'edit'; readonly input: Payload }
  | { readonly kind: 'ask'; readonly reason: string }
  | { readonly kind: 'deny'; readonly reason: string }
  /** With the halt itself, if it is the first report of it. */
  | { readonly kind: 'halt'; readonly reason: string; readonly halt?: HookHalt | undefined };

export const pass: HookDecision = Object.freeze({ kind: 'pass' });

/** The output of a hook: at most one JSON object on stdout, or a text on stderr with the exit code that blocks. */
export interface HookAnswer {
  readonly stdout?: object;
  readonly stderr?: string;
  readonly code: 0 | 2;
}

export const noAnswer: HookAnswer = Object.freeze({ code: 0 });

/** An agent CLI that calls hooks. */
export interface HookHost {
  readonly name: HostName;
  /** Whether the host reports the end of all calls of a model turn. */
  readonly reportsTurns: boolean;
  /** The names of tools in the host's event stream, if they differ. */
  readonly streamNames?: Readonly<Record<string, string>>;
  /** Reads the event of a payload; never throws on missing or invalid fields. */
  read(payload: Payload): HookEvent;
  /** The session file with the usage of the agent of an event. */
  transcript(payload: Payload): TranscriptFile | undefined;
  answer(event: HookEvent, decision: HookDecision): HookAnswer;
  /** How the host takes an input in place of that of a call; absent: it cannot. */
  readonly inputEdits?: InputEdits;
  /** Whether a person can be asked at the host's terminal. */
  isAttended(payload: Payload, env: Readonly<Record<string, string | undefined>>): boolean;
}

/** Whether an input replaces that of the call, or its fields are merged into it. */
export type InputEdits = 'replace' | 'merge';

export type HostName = 'claude-code' | 'codex' | 'gemini';
export type Payload = Readonly<Record<string, unknown>>;

export function readTextField(payload: Payload, key: string): string | undefined {
  const value = payload[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The object in a field of a payload, or an empty one. */
export function readObjectField(payload: Payload, key: string): Payload {
  const value = payload[key];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Payload) : {};
}

export function readOrigin(payload: Payload): EventOrigin {
  return {
    session: asSessionId(payload.session_id) ?? 'unknown',
    cwd: readTextField(payload, 'cwd') ?? '',
    agent: asSessionId(payload.agent_id),
    agentType: readTextField(payload, 'agent_type'),
  };
}

/** The ending of a failed call, with an error without a stack. */
export function makeFailedEnding(text: string, payload: Payload): Ending {
  return { error: { name: nameError(readTextField(payload, 'tool_name') ?? '', text), message: text.slice(0, 500) } };
}
