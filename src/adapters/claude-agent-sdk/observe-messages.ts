/** Reports the messages of Claude to their tasks: the text and usage of each model call, once, when it is complete. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { lengthOf, meterEstimate, meterUsage, usageRemedies } from '../host/meter-usage.ts';

type Counts = Readonly<Record<string, number | undefined>>;

interface ClaudeMessage {
  readonly id?: string;
  readonly model?: string;
  readonly content?: unknown;
  readonly usage?: Counts | null;
}

interface Message {
  readonly type?: unknown;
  readonly agent_id?: string;
  readonly parent_tool_use_id?: string | null;
  readonly message?: ClaudeMessage;
  /** A part of a message, with the option `includePartialMessages`. */
  readonly event?: {
    readonly type?: unknown;
    readonly message?: ClaudeMessage;
    readonly delta?: Readonly<Record<string, unknown>>;
    readonly usage?: Counts | null;
  };
}

/** A model call in progress: it has one message per content block, all with the same id. */
interface ModelCall {
  readonly id: string;
  text: string;
  toolUse: boolean;
  model: string;
  usage: Counts;
  /** Characters of complete content blocks, and of the parts of a streamed message. */
  contentLength: number;
  streamedLength: number;
  /** Whether the usage is that of a complete message. */
  isCounted: boolean;
  /** Whether a complete content block came. */
  isComplete: boolean;
}

export interface ClaudeMessageObserver {
  observeMessage(message: unknown): void;
  end(): void;
}

export function createMessageObserver(
  gear: Switchgear,
  taskOf: (message: Message) => Task,
  prompt: unknown,
): ClaudeMessageObserver {
  /** The model calls in progress by task: several agents may run at the same time. */
  const openCalls = new Map<Task, ModelCall>();
  /** The characters that each agent has read and written, which are the input of its next model call. */
  const readLengths = new WeakMap<Task, number>();

  function addLength(task: Task, length: number): void {
    readLengths.set(task, (readLengths.get(task) ?? lengthOf(prompt)) + length);
  }

  function flush(task: Task): void {
    const modelCall = openCalls.get(task);
    openCalls.delete(task);
    if (modelCall === undefined) return;
    const { text, toolUse, model, usage, isCounted, isComplete, contentLength, streamedLength } = modelCall;
    if (isComplete) task.observe({ type: 'assistant', text, toolUse });
    const cacheReadTokens = usage.cache_read_input_tokens ?? 0;
    const cacheWriteTokens = usage.cache_creation_input_tokens ?? 0;
    const counts = {
      // `input_tokens` of Claude excludes cached tokens, both read and written.
      inputTokens: (usage.input_tokens ?? 0) + cacheReadTokens + cacheWriteTokens,
      outputTokens: usage.output_tokens ?? 0,
      cacheReadTokens,
      cacheWriteTokens,
    };
    const outputLength = Math.max(contentLength, streamedLength);
    if (isCounted) meterUsage(gear, task, { ...counts, model });
    else if (model !== '<synthetic>') {
      // Claude Code writes messages of its own under that name, such as errors.
      const inputLength = readLengths.get(task) ?? lengthOf(prompt);
      const remedy = isComplete ? usageRemedies.claude : undefined;
      meterEstimate(gear, task, { model, inputLength, outputLength, known: counts, remedy });
    }
    addLength(task, outputLength);
  }

  function end(): void {
    for (const task of [...openCalls.keys()]) flush(task);
  }

  /** The model call of a message; the call before it is complete. */
  function openCall(task: Task, { id = '', model = '' }: ClaudeMessage): ModelCall {
    if (openCalls.get(task)?.id !== id) flush(task);
    const state = { text: '', toolUse: false, usage: {}, isCounted: false, isComplete: false };
    const call = openCalls.get(task) ?? { ...state, id, model, contentLength: 0, streamedLength: 0 };
    openCalls.set(task, call);
    return call;
  }

  /** Follows a message that is streamed, which may break off before its first block is complete. */
  function observeEvent(task: Task, { type, message, delta, usage }: NonNullable<Message['event']>): void {
    if (type === 'message_start' && message !== undefined) {
      openCall(task, message).usage = message.usage ?? {};
      return;
    }
    const call = openCalls.get(task);
    if (call === undefined) return;
    if (type === 'content_block_delta') {
      for (const part of Object.values(delta ?? {})) if (typeof part === 'string') call.streamedLength += part.length;
    }
    if (type !== 'message_delta' || !hasCounts(usage)) return;
    call.usage = { ...call.usage, ...usage };
    call.isCounted = true;
  }

  function observeMessage(input: unknown): void {
    const message = (input ?? {}) as Message;
    if (message.type === 'result') end();
    if (message.type === 'stream_event') observeEvent(taskOf(message), message.event ?? {});
    if (message.type !== 'assistant' && message.type !== 'user') return;
    const task = taskOf(message);
    const { content, usage } = message.message ?? {};
    if (message.type === 'user') {
      flush(task);
      addLength(task, lengthOf(content));
      return;
    }
    const call = openCall(task, message.message ?? {});
    call.isComplete = true;
    call.model ||= message.message?.model ?? '';
    call.contentLength += lengthOf(content);
    for (const block of Array.isArray(content) ? content : []) {
      if (block?.type === 'text') call.text += String(block.text);
      if (block?.type === 'tool_use') call.toolUse = true;
    }
    // The last message of a model call has the final counts.
    if (hasCounts(usage)) call.usage = { ...call.usage, ...usage };
    call.isCounted ||= hasCounts(usage);
  }

  return { observeMessage, end };
}

/** Whether a usage has a count above 0: a message without usage has none, or zeros only. */
function hasCounts(usage: Counts | null | undefined): usage is Counts {
  return Object.values(usage ?? {}).some((count) => typeof count === 'number' && count > 0);
}
