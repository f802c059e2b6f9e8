/** The messages of Claude Code, which its stream and its session files share. */

import type { AgentEvent, ToolResultEvent, UsageEvent, UserEvent } from '../reading/agent-event.ts';
import { type Draft, type Fields, fieldsOf, listOf, textOf } from '../reading/reader.ts';
import { anthropicTokens, isNothing } from '../reading/tokens.ts';

/** Whether a usage is what was told of the same message just before: most lines repeat it. */
export function lastUsage(): (message: string, usage: Fields) => boolean {
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

/** What a call of the Agent tool sends out. */
export interface SentAgent {
  readonly name?: string;
  readonly prompt?: string;
  /** The subagent that sends it. */
  readonly parent?: string;
}

const agentTools = new Set(['Agent', 'Task']);

/** What the model said and called. One line has one block; several share the id of a message, and its usage. */
export function claudeMessage(
  { id, model, content, usage }: Fields,
  agent: string | undefined,
  events: AgentEvent[],
  send: (call: string, sent: SentAgent) => void,
  isTold: (message: string, usage: Fields) => boolean,
): void {
  const message = textOf(id);
  const of: { message?: string; agent?: string } = {};
  if (message !== undefined) of.message = message;
  if (agent !== undefined) of.agent = agent;
  for (const item of listOf(content)) {
    const block = fieldsOf(item);
    const call = textOf(block.id);
    const text = textOf(block.text);
    if (block.type === 'text' && text !== undefined) events.push({ type: 'assistant', text, ...of });
    if (block.type !== 'tool_use' || call === undefined) continue;
    const name = textOf(block.name) ?? 'tool';
    if (agentTools.has(name)) send(call, sentBy(fieldsOf(block.input), agent));
    events.push({ type: 'tool_use', id: call, name, input: block.input, ...of });
  }
  if (message === undefined || isTold(message, fieldsOf(usage))) return;
  const tokens = anthropicTokens(fieldsOf(usage));
  if (isNothing(tokens)) return;
  const used: Draft<UsageEvent> = { type: 'usage', id: message, ...tokens };
  const named = textOf(model);
  if (named !== undefined) used.model = named;
  if (agent !== undefined) used.agent = agent;
  events.push(used);
}

function sentBy({ subagent_type, prompt }: Fields, parent: string | undefined): SentAgent {
  const name = textOf(subagent_type);
  const asked = textOf(prompt);
  return { ...(name && { name }), ...(asked && { prompt: asked }), ...(parent && { parent }) };
}

/** What calls brought, and what was said to the model. */
export function claudeResults(
  { content }: Fields,
  agent: string | undefined,
  by: UserEvent['by'],
  events: AgentEvent[],
  returned: (call: string, ok: boolean, reason: string | undefined) => void,
): void {
  const of = agent === undefined ? {} : { agent };
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
  for (const item of blocks) {
    const block = fieldsOf(item);
    const id = textOf(block.tool_use_id);
    const text = textOf(block.text);
    if (block.type === 'tool_result' && id !== undefined) {
      const ok = block.is_error !== true;
      const output = contentOf(block.content);
      const result: Draft<ToolResultEvent> = { type: 'tool_result', id, ok, output };
      if (!ok) result.error = String(output);
      if (agent !== undefined) result.agent = agent;
      events.push(result);
      returned(id, ok, ok ? undefined : String(output));
    } else if (block.type === 'text' && text !== undefined) {
      events.push({ type: 'user', text, by: harnessWords.test(text) ? 'harness' : by, ...of });
    }
  }
}

/** Words in tags, and the mark of an interruption, are put there by the program. */
const harnessWords = /^\s*(<[a-z][a-z-]*>|\[Request interrupted|Caveat: The messages below)/;

/** The text of a result; what is no text (an image) counts by its kind. */
function contentOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const parts = content.map((part) => textOf(fieldsOf(part).text) ?? `[${fieldsOf(part).type}]`);
  return parts.join('\n');
}
