/** Reads messages of Claude Code, which have the same form in its stream and in its session files. */

import { textOf } from '../../core/foreign-text.ts';
import type { AgentEvent, ToolResultEvent, UsageEvent, UserEvent } from '../reading/agent-event.ts';
import { asList, asObject, asText, type Draft, type JsonObject } from '../reading/reader.ts';
import { anthropicTokens, hasNoTokens } from '../reading/tokens.ts';

/** Creates a check whether a usage repeats that of the previous line of the same message, as most lines do. */
export function createRepeatCheck(): (message: string, usage: JsonObject) => boolean {
  let last: string | undefined;
  let [input, output]: unknown[] = [];
  return (message, usage) => {
    if (message === last && usage.input_tokens === input && usage.output_tokens === output) return true;
    last = message;
    input = usage.input_tokens;
    output = usage.output_tokens;
    return false;
  };
}

/** The arguments of a call of the Agent tool. */
export interface SubagentRequest {
  readonly name?: string;
  readonly prompt?: string;
  /** The subagent that makes the call. */
  readonly parent?: string;
}

const agentTools = new Set(['Agent', 'Task']);

/**
 * Reads the texts and calls of the model. Each line has one content block; the lines of one message share its id and
 * usage.
 */
export function readClaudeMessage(
  { id, model, content, usage }: JsonObject,
  agent: string | undefined,
  events: AgentEvent[],
  onSubagentCall: (call: string, request: SubagentRequest) => void,
  isRepeated: (message: string, usage: JsonObject) => boolean,
): void {
  const message = asText(id);
  const origin: { message?: string; agent?: string } = {};
  if (message !== undefined) origin.message = message;
  if (agent !== undefined) origin.agent = agent;
  for (const item of asList(content)) {
    const block = asObject(item);
    const call = asText(block.id);
    const text = asText(block.text);
    if (block.type === 'text' && text !== undefined) events.push({ type: 'assistant', text, ...origin });
    if (block.type !== 'tool_use' || call === undefined) continue;
    const name = asText(block.name) ?? 'tool';
    if (agentTools.has(name)) onSubagentCall(call, readSubagentRequest(asObject(block.input), agent));
    events.push({ type: 'tool_use', id: call, name, input: block.input, ...origin });
  }
  if (message === undefined || isRepeated(message, asObject(usage))) return;
  const tokens = anthropicTokens(asObject(usage));
  if (hasNoTokens(tokens)) return;
  const usageEvent: Draft<UsageEvent> = { type: 'usage', id: message, ...tokens };
  const modelName = asText(model);
  if (modelName !== undefined) usageEvent.model = modelName;
  if (agent !== undefined) usageEvent.agent = agent;
  events.push(usageEvent);
}

function readSubagentRequest({ subagent_type, prompt }: JsonObject, parent: string | undefined): SubagentRequest {
  const name = asText(subagent_type);
  const promptText = asText(prompt);
  return { ...(name && { name }), ...(promptText && { prompt: promptText }), ...(parent && { parent }) };
}

/** Reads the results of calls and the messages to the model. */
export function readClaudeResults(
  { content }: JsonObject,
  agent: string | undefined,
  by: UserEvent['by'],
  events: AgentEvent[],
  onToolResult: (call: string, ok: boolean, reason: string | undefined) => void,
): void {
  const origin = agent === undefined ? {} : { agent };
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : asList(content);
  for (const item of blocks) {
    const block = asObject(item);
    const id = asText(block.tool_use_id);
    const text = asText(block.text);
    if (block.type === 'tool_result' && id !== undefined) {
      const ok = block.is_error !== true;
      const output = readResultContent(block.content);
      const result: Draft<ToolResultEvent> = { type: 'tool_result', id, ok, output };
      if (!ok) result.error = textOf(output);
      if (agent !== undefined) result.agent = agent;
      events.push(result);
      onToolResult(id, ok, ok ? undefined : textOf(output));
    } else if (block.type === 'text' && text !== undefined) {
      events.push({ type: 'user', text, by: harnessText.test(text) ? 'harness' : by, ...origin });
    }
  }
}

/** Matches texts that Claude Code itself inserts: texts in tags and the notice of an interruption. */
const harnessText = /^\s*(<[a-z][a-z-]*>|\[Request interrupted|Caveat: The messages below)/;

/** The text of a result; other content, such as an image, is represented by its type. */
function readResultContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const parts = content.map((part) => asText(asObject(part).text) ?? `[${textOf(asObject(part).type)}]`);
  return parts.join('\n');
}
