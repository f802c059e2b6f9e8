/** The parts of opencode's messages, which its stream, its database and its export share. */

import type { AgentEvent } from '../reading/agent-event.ts';
import { asObject, asText, type JsonObject } from '../reading/reader.ts';
import { hasNoTokens, opencodeTokens } from '../reading/tokens.ts';

/** A tool: called, and done as far as its state says so. A command that failed is `completed` like any other. */
export function readOpencodeTool(part: JsonObject, agent: string | undefined, events: AgentEvent[]): void {
  const id = asText(part.callID);
  const name = asText(part.tool) ?? 'tool';
  const state = asObject(part.state);
  if (id === undefined || state.status === 'pending') return; // Its input is still being written.
  const owner = agent === undefined ? {} : { agent };
  const message = asText(part.messageID);
  events.push({ type: 'tool_use', id, name, input: state.input, ...(message && { message }), ...owner });
  const metadata = asObject(state.metadata);
  const child = name === 'task' ? asText(metadata.sessionId) : undefined;
  // Only the database shows what it does, perhaps a little later than the stream says that it is done.
  if (child !== undefined)
    events.push({
      type: 'subagent_started',
      id: child,
      call: id,
      hidden: true,
      ...readSubagentRequest(state.input),
      ...parentFields(owner),
    });
  if (state.status !== 'completed' && state.status !== 'error') return;
  const error = asText(state.error);
  const isZero = typeof metadata.exit !== 'number' || metadata.exit === 0;
  const ok = state.status === 'completed' && isZero;
  events.push({ type: 'tool_result', id, ok, output: error ?? state.output, ...(error && { error }), ...owner });
  if (child !== undefined) events.push({ type: 'subagent_ended', id: child, ok, ...(error && { reason: error }) });
}

function readSubagentRequest(input: unknown): { readonly name?: string; readonly prompt?: string } {
  const { subagent_type, prompt } = asObject(input);
  const name = asText(subagent_type);
  const promptText = asText(prompt);
  return { ...(name && { name }), ...(promptText && { prompt: promptText }) };
}

function parentFields({ agent }: { readonly agent?: string }): { readonly parent?: string } {
  return agent === undefined ? {} : { parent: agent };
}

/** A step is one model call, by the id of the part that ends it. A cost of nothing was not known. */
export function readOpencodeStep(
  part: JsonObject,
  model: string | undefined,
  agent: string | undefined,
  events: AgentEvent[],
): void {
  const id = asText(part.id);
  const tokens = opencodeTokens(asObject(part.tokens));
  const costUsd = typeof part.cost === 'number' && part.cost > 0 ? part.cost : undefined;
  const owner = { ...(model && { model }), ...(agent && { agent }), ...(costUsd !== undefined && { costUsd }) };
  if (id !== undefined && !hasNoTokens(tokens)) events.push({ type: 'usage', id, ...owner, ...tokens });
  const reason = asText(part.reason);
  if (agent !== undefined || reason === undefined || reason === 'tool-calls') return;
  events.push({ type: 'result', ok: reason === 'stop', final: true, reason });
}
