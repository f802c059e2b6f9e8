/** Reads the parts of opencode's messages, which have the same form in its stream, database and export. */

import type { AgentEvent } from '../reading/agent-event.ts';
import { asObject, asText, type JsonObject } from '../reading/reader.ts';
import { asSessionId } from '../reading/session-id.ts';
import { hasNoTokens } from '../reading/tokens.ts';
import { opencodeTokens } from './tokens.ts';

/** Reads a tool part: a call, and its result if the state has one. A failed command is also `completed`. */
export function readOpencodeTool(part: JsonObject, agent: string | undefined, events: AgentEvent[]): void {
  const id = asText(part.callID);
  const name = asText(part.tool) ?? 'tool';
  const state = asObject(part.state);
  if (id === undefined || state.status === 'pending') return; // The input of the call is still incomplete.
  const owner = agent === undefined ? {} : { agent };
  const message = asText(part.messageID);
  events.push({ type: 'tool_use', id, name, input: state.input, ...(message && { message }), ...owner });
  const metadata = asObject(state.metadata);
  const child = name === 'task' ? asSessionId(metadata.sessionId) : undefined;
  // Only the database contains the subagent's actions, possibly a little after the stream reports its end.
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
  const { start, end } = asObject(state.time);
  const tookMs = Number(end) - Number(start);
  const facts = { ...(error && { error }), ...(tookMs > 0 && { tookMs }), ...owner };
  events.push({ type: 'tool_result', id, ok, output: error ?? state.output, ...facts });
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

/** Reads a finished step, which is one model call, named by the id of its last part. A cost of 0 means unknown. */
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
