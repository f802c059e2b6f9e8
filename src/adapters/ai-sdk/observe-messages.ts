/**
 * Reports model calls of the AI SDK to their task: texts, usage, new messages of the user, and calls that ran
 * elsewhere.
 */

import type { Task } from '../../guard/api.ts';
import type { Usage } from '../../ports/prices.ts';
import type { HostRun } from '../host/host-run.ts';
import { lengthOf, meterEstimate, meterUsage, usageRemedies } from '../host/meter-usage.ts';

/** A piece of content, of a stream or of a message. */
export type AiSdkPart = Readonly<Record<string, unknown>> & { readonly type: string };

export type AiSdkPrompt = readonly { readonly role: string; readonly content: unknown }[];

/** Reports an answer of the model to its task. */
export function observeResponse(
  model: string,
  run: HostRun,
  task: Task,
  content: readonly AiSdkPart[],
  usage: unknown,
  prompt: AiSdkPrompt | undefined,
  isCut = false,
): void {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  task.observe({ type: 'assistant', text, toolUse: listCallIds(content).length > 0 });
  // Some providers report no usage, and neither does a stream that broke off.
  if (/\d/.test(JSON.stringify(usage) ?? '')) meterUsage(run.gear, task, { ...readUsage(usage), model });
  else if (prompt !== undefined) {
    const [inputLength, outputLength] = [lengthOf(prompt), lengthOf(content)];
    const remedy = isCut ? undefined : usageRemedies.aiSdk;
    meterEstimate(run.gear, task, { model, inputLength, outputLength, remedy });
  }
}

/** The ids of the calls in an answer, except those that the provider runs. */
export function listCallIds(content: readonly AiSdkPart[]): string[] {
  return content.flatMap(({ type, providerExecuted, toolCallId }) =>
    type === 'tool-call' && providerExecuted !== true ? [String(toolCallId)] : [],
  );
}

/** Reports new messages of the user, and calls of the last turn that ran elsewhere or that the SDK refused. */
export function observePrompt(task: Task, prompt: AiSdkPrompt): void {
  const last = prompt.at(-1);
  const parts = partsOf(last?.content);
  if (last?.role === 'user') {
    task.observe({ type: 'user', text: parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n') });
  }
  if (last?.role !== 'tool') return;
  const calls = partsOf(prompt.findLast(({ role }) => role === 'assistant')?.content);
  for (const { type, toolCallId: id, toolName, output } of parts) {
    if (type !== 'tool-result' || typeof id !== 'string') continue;
    const input = calls.find((call) => call.type === 'tool-call' && call.toolCallId === id)?.input;
    const { type: kind, value } = (output ?? {}) as Readonly<Record<string, unknown>>;
    task.observe({ type: 'tool_use', id, name: String(toolName), input });
    task.observe({ type: 'tool_result', id, ok: !/error|denied/.test(String(kind)), output: value });
  }
}

function partsOf(content: unknown): readonly AiSdkPart[] {
  return Array.isArray(content) ? (content as AiSdkPart[]) : [];
}

/** Numbers in specification 2, totals with details in the later ones. */
function readUsage(usage: unknown): Usage {
  const { inputTokens, outputTokens, cachedInputTokens } = (usage ?? {}) as Readonly<Record<string, unknown>>;
  const input = (
    typeof inputTokens === 'object' ? inputTokens : { total: inputTokens, cacheRead: cachedInputTokens }
  ) as Readonly<Record<string, number | undefined>> | null;
  const output = (typeof outputTokens === 'object' ? outputTokens : { total: outputTokens }) as typeof input;
  return {
    inputTokens: input?.total ?? 0,
    outputTokens: output?.total ?? 0,
    cacheReadTokens: input?.cacheRead ?? 0,
    cacheWriteTokens: input?.cacheWrite ?? 0,
  };
}
