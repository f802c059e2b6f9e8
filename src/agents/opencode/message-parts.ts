/** The parts of opencode's messages, which its stream, its database and its export share. */

import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, textOf } from '../reading/reader.ts';
import { isNothing, opencodeTokens } from '../reading/tokens.ts';

/** A tool: called, and done as far as its state says so. A command that failed is `completed` like any other. */
export function opencodeTool(part: Fields, agent: string | undefined, events: AgentEvent[]): void {
  const id = textOf(part.callID);
  const name = textOf(part.tool) ?? 'tool';
  const state = fieldsOf(part.state);
  if (id === undefined || state.status === 'pending') return; // Its input is still being written.
  const of = agent === undefined ? {} : { agent };
  const message = textOf(part.messageID);
  events.push({ type: 'tool_use', id, name, input: state.input, ...(message && { message }), ...of });
  const metadata = fieldsOf(state.metadata);
  const child = name === 'task' ? textOf(metadata.sessionId) : undefined;
  // Only the database shows what it does, perhaps a little later than the stream says that it is done.
  if (child !== undefined)
    events.push({ type: 'subagent_started', id: child, call: id, hidden: true, ...sent(state.input), ...up(of) });
  if (state.status !== 'completed' && state.status !== 'error') return;
  const error = textOf(state.error);
  const isZero = typeof metadata.exit !== 'number' || metadata.exit === 0;
  const ok = state.status === 'completed' && isZero;
  events.push({ type: 'tool_result', id, ok, output: error ?? state.output, ...(error && { error }), ...of });
  if (child !== undefined) events.push({ type: 'subagent_ended', id: child, ok, ...(error && { reason: error }) });
}

function sent(input: unknown): { readonly name?: string; readonly prompt?: string } {
  const { subagent_type, prompt } = fieldsOf(input);
  const name = textOf(subagent_type);
  const asked = textOf(prompt);
  return { ...(name && { name }), ...(asked && { prompt: asked }) };
}

function up({ agent }: { readonly agent?: string }): { readonly parent?: string } {
  return agent === undefined ? {} : { parent: agent };
}

/** A step is one model call, by the id of the part that ends it. A cost of nothing was not known. */
export function opencodeStep(
  part: Fields,
  model: string | undefined,
  agent: string | undefined,
  events: AgentEvent[],
): void {
  const id = textOf(part.id);
  const tokens = opencodeTokens(fieldsOf(part.tokens));
  const costUsd = typeof part.cost === 'number' && part.cost > 0 ? part.cost : undefined;
  const of = { ...(model && { model }), ...(agent && { agent }), ...(costUsd !== undefined && { costUsd }) };
  if (id !== undefined && !isNothing(tokens)) events.push({ type: 'usage', id, ...of, ...tokens });
  const reason = textOf(part.reason);
  if (agent !== undefined || reason === undefined || reason === 'tool-calls') return;
  events.push({ type: 'result', ok: reason === 'stop', final: true, reason });
}
