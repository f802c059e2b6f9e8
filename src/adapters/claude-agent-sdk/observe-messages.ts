/** Reports the messages of Claude to their tasks: the text and usage of each model call, once, when it is complete. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { meterUsage } from '../host/meter-usage.ts';

interface Message {
  readonly type?: unknown;
  readonly agent_id?: string;
  readonly parent_tool_use_id?: string | null;
  readonly message?: {
    readonly id?: string;
    readonly model?: string;
    readonly content?: unknown;
    readonly usage?: Readonly<Record<string, number | undefined>>;
  };
}

/** A model call in progress: it has one message per content block, all with the same id. */
interface ModelCall {
  readonly id: string;
  readonly task: Task;
  text: string;
  toolUse: boolean;
  model: string;
  usage: Readonly<Record<string, number | undefined>>;
}

export interface ClaudeMessageObserver {
  observeMessage(message: unknown): void;
  end(): void;
}

export function createMessageObserver(gear: Switchgear, taskOf: (message: Message) => Task): ClaudeMessageObserver {
  /** The model calls in progress by task: several agents may run at the same time. */
  const openCalls = new Map<Task, ModelCall>();

  function flush(task: Task): void {
    const modelCall = openCalls.get(task);
    openCalls.delete(task);
    if (modelCall === undefined) return;
    const { text, toolUse, model, usage } = modelCall;
    task.observe({ type: 'assistant', text, toolUse });
    const cacheReadTokens = usage.cache_read_input_tokens ?? 0;
    const cacheWriteTokens = usage.cache_creation_input_tokens ?? 0;
    // `input_tokens` of Claude excludes cached tokens, both read and written.
    const inputTokens = (usage.input_tokens ?? 0) + cacheReadTokens + cacheWriteTokens;
    meterUsage(gear, task, {
      model,
      inputTokens,
      outputTokens: usage.output_tokens ?? 0,
      cacheReadTokens,
      cacheWriteTokens,
    });
  }

  function end(): void {
    for (const task of [...openCalls.keys()]) flush(task);
  }

  function observeMessage(input: unknown): void {
    const message = (input ?? {}) as Message;
    if (message.type === 'result') end();
    if (message.type !== 'assistant' && message.type !== 'user') return;
    const task = taskOf(message);
    const { id = '', model = '', content, usage = {} } = message.message ?? {};
    if (message.type === 'user' || openCalls.get(task)?.id !== id) flush(task);
    if (message.type === 'user') return;
    const modelCall = openCalls.get(task) ?? { id, task, text: '', toolUse: false, model, usage };
    for (const block of Array.isArray(content) ? content : []) {
      if (block?.type === 'text') modelCall.text += String(block.text);
      if (block?.type === 'tool_use') modelCall.toolUse = true;
    }
    modelCall.usage = usage; // The last message of a model call has the final counts.
    openCalls.set(task, modelCall);
  }

  return { observeMessage, end };
}
