/**
 * Reports model calls of the AI SDK to their task: texts, usage, new messages of the user, and calls that ran
 * elsewhere.
 */

import { evictOldest } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
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
  const earlier = countEarlierResults(prompt);
  const seen = new Map<string, number>();
  for (const { type, toolCallId: id, toolName, output } of parts) {
    if (type !== 'tool-result' || typeof id !== 'string') continue;
    const index = seen.get(id) ?? 0;
    seen.set(id, index + 1);
    const round = (earlier.get(id) ?? 0) + index + 1;
    if (round <= countOf(task, id)) continue;
    setCount(task, id, round);
    const input = calls.filter((call) => call.type === 'tool-call' && call.toolCallId === id)[index]?.input;
    const { type: kind, value } = (output ?? {}) as Readonly<Record<string, unknown>>;
    const observedId = round === 1 ? id : `${id}#${round}`;
    task.observe({ type: 'tool_use', id: observedId, name: String(toolName), input });
    task.observe({ type: 'tool_result', id: observedId, ok: !/error|denied/.test(String(kind)), output: value });
  }
}

/** The calls of each task by id: some providers use one id for several calls. */
const counts = new WeakMap<Task, Map<string, number>>();

function countOf(task: Task, id: string): number {
  return counts.get(task)?.get(id) ?? 0;
}

function setCount(task: Task, id: string, count: number): void {
  const byId = counts.get(task) ?? new Map<string, number>();
  counts.set(task, byId);
  evictOldest(byId, countedIdsMax);
  byId.set(id, count);
}

/** Records a call that was decided on, so that its result in the next prompt is not counted again. */
export function recordGuardedCall(task: Task, id: string | undefined): void {
  if (id !== undefined) setCount(task, id, countOf(task, id) + 1);
}

/** The results before the last message by id, since the last message of the user, with which a task begins. */
function countEarlierResults(prompt: AiSdkPrompt): ReadonlyMap<string, number> {
  const results = new Map<string, number>();
  const start = prompt.findLastIndex(({ role }) => role === 'user') + 1;
  for (const { role, content } of prompt.slice(start, -1)) {
    if (role !== 'tool') continue;
    for (const { type, toolCallId: id } of partsOf(content))
      if (type === 'tool-result' && typeof id === 'string') results.set(id, (results.get(id) ?? 0) + 1);
  }
  return results;
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
