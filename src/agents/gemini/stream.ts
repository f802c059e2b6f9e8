/** Reads `gemini --output-format stream-json`. */

import { openCallsMax } from '../../core/limits.ts';
import type { AgentEvent, ToolResultEvent } from '../reading/agent-event.ts';
import { asObject, asText, type Draft, type JsonObject, jsonReader, noEvents, type Reader } from '../reading/reader.ts';
import { asSessionId } from '../reading/session-id.ts';
import { hasNoTokens } from '../reading/tokens.ts';
import { geminiStats } from './tokens.ts';

/** The shell tool: the stream reports its calls as successes with any exit code. */
export const geminiShellTool = 'run_shell_command';
export const geminiAgentTool = 'invoke_agent';

/** Creates a reader of the event stream of Gemini CLI. */
export function geminiReader(): Reader {
  return jsonReader(geminiEventReader());
}

/** Creates a function that reads parsed events of Gemini CLI. */
export function geminiEventReader(): (event: JsonObject) => readonly AgentEvent[] {
  const openCalls = new Map<string, string>();
  /** The message of Gemini's own loop detector, which ends a run and reports success. */
  let loopMessage: string | undefined;
  let calls = 0;

  function readEvent(event: JsonObject): readonly AgentEvent[] {
    switch (event.type) {
      case 'init': {
        const id = asSessionId(event.session_id);
        const model = asText(event.model);
        return [{ type: 'session', ...(id && { id }), ...(model && { model }) }];
      }
      case 'message': {
        const text = asText(event.content);
        if (text === undefined) return noEvents;
        if (event.role === 'user') return [{ type: 'user', text, by: 'person' }];
        return [event.delta === true ? { type: 'assistant', text, piece: true } : { type: 'assistant', text }];
      }
      case 'tool_use':
        return readCall(event);
      case 'tool_result':
        return readToolResult(event);
      case 'error': {
        const text = asText(event.message) ?? 'an error without words';
        if (/loop detected/i.test(text)) loopMessage = text;
        return [{ type: 'notice', level: event.severity === 'warning' ? 'warning' : 'error', text }];
      }
      case 'result':
        return readResult(event);
      default:
        return noEvents;
    }
  }

  function readCall(event: JsonObject): readonly AgentEvent[] {
    const id = asText(event.tool_id);
    const name = asText(event.tool_name) ?? 'tool';
    const input = event.parameters;
    if (id === undefined) return noEvents;
    if (openCalls.size < openCallsMax) openCalls.set(id, name);
    calls++;
    const call = { type: 'tool_use', id, name, input } as const;
    if (name !== geminiAgentTool) return [call];
    return [call, { type: 'subagent_started', id, call: id, hidden: true, ...readAgentRequest(asObject(input)) }];
  }

  function readToolResult(event: JsonObject): readonly AgentEvent[] {
    const id = asText(event.tool_id);
    if (id === undefined) return noEvents;
    const name = openCalls.get(id);
    openCalls.delete(id);
    const failed = event.status === 'error';
    const error = asText(asObject(event.error).message);
    const result: Draft<ToolResultEvent> = { type: 'tool_result', id, output: error ?? event.output };
    if (failed || name !== geminiShellTool) result.ok = !failed;
    if (error !== undefined) result.error = error;
    if (name !== geminiAgentTool) return [result];
    return [result, { type: 'subagent_ended', id, ok: !failed, ...(error && { reason: error }) }];
  }

  function readResult(event: JsonObject): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    const models = Object.entries(asObject(asObject(event.stats).models));
    for (const [model, stats] of models) {
      const tokens = geminiStats(asObject(stats));
      if (hasNoTokens(tokens)) continue;
      events.push({ type: 'total', of: 'run', model, calls: Math.ceil((calls + 1) / models.length), ...tokens });
    }
    const reason = asText(asObject(event.error).message) ?? loopMessage;
    const ok = event.status === 'success' && loopMessage === undefined;
    events.push({ type: 'result', ok, final: true, ...(reason && { reason }) });
    return events;
  }

  return readEvent;
}

/** The name and prompt of the subagent that a call starts. */
function readAgentRequest(input: JsonObject): { readonly name?: string; readonly prompt?: string } {
  const name = asText(input.agent_name) ?? asText(input.agent) ?? asText(input.name);
  const prompt = asText(input.prompt) ?? asText(input.objective) ?? asText(input.query);
  return { ...(name && { name }), ...(prompt && { prompt }) };
}
