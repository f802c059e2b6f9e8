/** What happens in an agent that calls hooks, and what a hook may answer; the same for every host. */

import type { Reader } from '../../agents/reading/reader.ts';
import type { Ending } from '../../core/classify.ts';
import type { HookHalt } from '../../supervisor/hook-mailbox.ts';

interface EventOrigin {
  /** The host's own name of the conversation. */
  readonly session: string;
  readonly cwd: string;
  /** The subagent it happened in; absent = the main one. */
  readonly agent?: string | undefined;
  readonly agentType?: string | undefined;
}

/** A file that grows with the conversation, how it is read, and its model where it does not say. */
export interface TranscriptFile {
  readonly path: string;
  readonly reader: () => Reader;
  readonly model?: string | undefined;
}

/** A prompt came: typed by a person, or written by the harness, which goes on with the task at hand. */
export interface PromptEvent extends EventOrigin {
  readonly type: 'prompt';
  readonly text: string;
  readonly by: 'person' | 'harness';
  /** Subagents that the harness reports as failed. */
  readonly failed?: readonly string[];
}

interface CallFields extends EventOrigin {
  /** The host's id of the call; absent where it has none. */
  readonly id?: string | undefined;
  readonly tool: string;
  readonly input: unknown;
  /** Who is sent out, where the call sends a subagent. */
  readonly delegation?: Delegation | undefined;
  /** Whether the tool is one of an MCP server, which others use, too. */
  readonly isShared: boolean;
}

export interface CallProposedEvent extends CallFields {
  readonly type: 'call-proposed';
}

/** Who is sent out by a call. */
export interface Delegation {
  readonly type: string;
  readonly prompt: string;
}

export interface CallEndedEvent extends CallFields {
  readonly type: 'call-ended';
  readonly ending: Ending | { readonly cancelled: true };
  /** The subagent that the call sent out, and whether it goes on after the call. */
  readonly subagent?: { readonly agent: string; readonly isBackground: boolean } | undefined;
}

/** All calls of one model turn have ended. */
export interface BatchEndedEvent extends EventOrigin {
  readonly type: 'batch-ended';
}

export interface SubagentEvent extends EventOrigin {
  readonly type: 'subagent-started' | 'subagent-ended';
  readonly agent: string;
}

/** The agent has nothing more to do. How much goes on in the background is told by some hosts. */
export interface StoppedEvent extends EventOrigin {
  readonly type: 'stopped';
  readonly background: number | undefined;
}

export interface SessionLifecycleEvent extends EventOrigin {
  readonly type: 'session-started' | 'session-ended';
}

/** Something that nobody here needs to know. */
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

/** What is answered. `halt` refuses this call and ends the run; `note` tells the model something with a result. */
export type HookDecision =
  | { readonly kind: 'pass' }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'ask'; readonly reason: string }
  | { readonly kind: 'deny'; readonly reason: string }
  /** With the verdict behind it, where it is not said again. */
  | { readonly kind: 'halt'; readonly reason: string; readonly halt?: HookHalt | undefined };

export const pass: HookDecision = Object.freeze({ kind: 'pass' });

/** How a decision is told: at most one JSON object on stdout, or words on stderr with the exit code that blocks. */
export interface HookAnswer {
  readonly stdout?: object;
  readonly stderr?: string;
  readonly code: 0 | 2;
}

export const noAnswer: HookAnswer = Object.freeze({ code: 0 });

/** An agent CLI that calls hooks. */
export interface HookHost {
  readonly name: HostName;
  /** Whether it says when all calls of a model turn have ended. */
  readonly reportsTurns: boolean;
  /** Names that its own event stream has for tools, where they are others. */
  readonly streamNames?: Readonly<Record<string, string>>;
  /** What a payload says; it never throws on what is no object or lacks something. */
  read(payload: Payload): HookEvent;
  /** Where it keeps what the agent of an event used. */
  transcript(payload: Payload): TranscriptFile | undefined;
  answer(event: HookEvent, decision: HookDecision): HookAnswer;
  /** Whether a person sits at its terminal and can be asked there. */
  isAttended(payload: Payload, env: Readonly<Record<string, string | undefined>>): boolean;
}

export type HostName = 'claude-code' | 'codex' | 'gemini';
export type Payload = Readonly<Record<string, unknown>>;

export function readTextField(payload: Payload, key: string): string | undefined {
  const value = payload[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The part of a payload under a name, or an empty one. */
export function readObjectField(payload: Payload, key: string): Payload {
  const value = payload[key];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Payload) : {};
}

export function readOrigin(payload: Payload): EventOrigin {
  return {
    session: readTextField(payload, 'session_id') ?? 'unknown',
    cwd: readTextField(payload, 'cwd') ?? '',
    agent: readTextField(payload, 'agent_id'),
    agentType: readTextField(payload, 'agent_type'),
  };
}

/** The error of a call, without a stack that nobody will read. */
export function makeFailedEnding(text: string): Ending {
  return { error: { name: 'ToolError', message: text.slice(0, 500) } };
}
