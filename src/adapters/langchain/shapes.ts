/** The types of LangChain that the adapter uses, and the loader of its message classes. */

import { SwitchgearError } from '../../core/error.ts';

export interface MessageLike {
  readonly id?: string;
  readonly type?: string;
  readonly content: unknown;
}

export interface AiMessageLike extends MessageLike {
  readonly tool_calls?: readonly unknown[];
  /** In a chunk of a stream: the parts of its tool calls. */
  readonly tool_call_chunks?: readonly unknown[];
  readonly usage_metadata?: {
    readonly input_tokens?: number;
    readonly output_tokens?: number;
    readonly input_token_details?: { readonly cache_read?: number; readonly cache_creation?: number };
  };
  readonly response_metadata?: Readonly<Record<string, unknown>>;
}

interface AgentState {
  readonly messages?: readonly MessageLike[];
}

export interface LangChainRuntime {
  readonly signal?: AbortSignal;
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly interrupt?: (value: unknown) => unknown;
}

export interface ModelRequest {
  readonly model: unknown;
  readonly messages: readonly MessageLike[];
  readonly state: AgentState;
  readonly runtime: LangChainRuntime;
  readonly tools?: readonly unknown[];
  readonly toolChoice?: unknown;
  readonly responseFormat?: unknown;
  /** The signal of the guarded call. */
  readonly signal?: AbortSignal;
  /** Receives the text that the model streams during the guarded call. */
  readonly onText?: (text: string) => void;
}

/** A model or a tool. */
export interface Invokable {
  readonly invoke: (input: unknown, config?: unknown) => Promise<unknown>;
  readonly stream?: (input: unknown, config?: unknown) => Promise<AsyncIterable<AiMessageLike>>;
  readonly name?: unknown;
}

export interface ToolCallLike {
  readonly id?: string;
  readonly name: string;
  readonly args: unknown;
}

export interface ToolRequest {
  readonly toolCall: ToolCallLike;
  readonly tool?: unknown;
  readonly state: AgentState;
  readonly runtime: LangChainRuntime;
}

/** The next handler of a hook. */
export type Handler<R> = (request: R) => Promise<unknown>;

interface MessageClasses {
  readonly AIMessage: new (fields: object) => AiMessageLike;
  readonly AIMessageChunk: new (fields: object) => AiMessageLike;
  readonly ToolMessage: new (fields: object) => MessageLike;
}

/** Loads the message classes of LangChain when the adapter makes its first message. */
export async function loadMessageClasses(): Promise<MessageClasses> {
  try {
    // @ts-expect-error: an optional peer dependency, which users of the framework have installed.
    return (await import('@langchain/core/messages')) as MessageClasses;
  } catch (error) {
    throw makeMissingError(error);
  }
}

interface StreamClass {
  readonly IterableReadableStream: { fromAsyncGenerator<T>(source: AsyncGenerator<T>): AsyncIterable<T> };
}

/** Loads the class of LangChain's streams when a guarded model streams. */
export async function loadStreamClass(): Promise<StreamClass> {
  try {
    // @ts-expect-error: an optional peer dependency, which users of the framework have installed.
    return (await import('@langchain/core/utils/stream')) as StreamClass;
  } catch (error) {
    throw makeMissingError(error);
  }
}

function makeMissingError(cause: unknown): SwitchgearError {
  const how = "this adapter needs the package '@langchain/core': run npm install @langchain/core";
  return new SwitchgearError('missing_package', how, { cause });
}

/** The text of a message: its content, or the text parts of it. */
export function messageText({ content }: MessageLike): string {
  if (!Array.isArray(content)) return String(content ?? '');
  return content.map((part) => (typeof part === 'string' ? part : String(part?.text ?? ''))).join('');
}

/**
 * The names of a run. The first is the last message of the user, which stays the same across an interrupt. The others
 * are the last calls of the model, which identify the run if other middleware adds a human message such as a summary.
 */
export function listRunNames({ messages = [] }: AgentState): readonly string[] {
  const started = messages.findLast(({ type }) => type === 'human')?.id;
  const last: AiMessageLike | undefined = messages.findLast(({ type }) => type === 'ai');
  const calls = last?.tool_calls?.map((call) => (call as ToolCallLike).id) ?? [];
  const names = [started, ...calls].filter((name) => name !== undefined);
  return names.length > 0 ? names : [''];
}

/** The thread id of a run, if the graph has a checkpointer. */
export function threadOf(runtime: LangChainRuntime | undefined): string | undefined {
  const thread = runtime?.configurable?.thread_id;
  return thread === undefined ? undefined : String(thread);
}
