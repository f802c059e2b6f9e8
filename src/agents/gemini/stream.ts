/** Reads `gemini --output-format stream-json`. */

import { openCallsMax } from '../../core/limits.ts';
import type { AgentEvent, ToolResultEvent } from '../reading/agent-event.ts';
import { type Draft, type Fields, fieldsOf, jsonReader, nothing, type Reader, textOf } from '../reading/reader.ts';
import { geminiStats, isNothing } from '../reading/tokens.ts';

/** The shell: its calls are told as successes whatever their exit code was. */
export const geminiShell = 'run_shell_command';
export const geminiAgentTool = 'invoke_agent';

export function geminiReader(): Reader {
  const open = new Map<string, string>();
  /** Its own loop detector ends a run and calls that a success. */
  let gaveUp: string | undefined;
  let calls = 0;

  function take(event: Fields): readonly AgentEvent[] {
    switch (event.type) {
      case 'init': {
        const id = textOf(event.session_id);
        const model = textOf(event.model);
        return [{ type: 'session', ...(id && { id }), ...(model && { model }) }];
      }
      case 'message': {
        const text = textOf(event.content);
        if (text === undefined) return nothing;
        if (event.role === 'user') return [{ type: 'user', text, by: 'person' }];
        return [event.delta === true ? { type: 'assistant', text, piece: true } : { type: 'assistant', text }];
      }
      case 'tool_use':
        return takeCall(event);
      case 'tool_result':
        return takeReturn(event);
      case 'error': {
        const text = textOf(event.message) ?? 'an error without words';
        if (/loop detected/i.test(text)) gaveUp = text;
        return [{ type: 'notice', level: event.severity === 'warning' ? 'warning' : 'error', text }];
      }
      case 'result':
        return takeResult(event);
      default:
        return nothing;
    }
  }

  function takeCall(event: Fields): readonly AgentEvent[] {
    const id = textOf(event.tool_id);
    const name = textOf(event.tool_name) ?? 'tool';
    const input = event.parameters;
    if (id === undefined) return nothing;
    if (open.size < openCallsMax) open.set(id, name);
    calls++;
    const call = { type: 'tool_use', id, name, input } as const;
    if (name !== geminiAgentTool) return [call];
    return [call, { type: 'subagent_started', id, call: id, hidden: true, ...geminiAgent(fieldsOf(input)) }];
  }

  function takeReturn(event: Fields): readonly AgentEvent[] {
    const id = textOf(event.tool_id);
    if (id === undefined) return nothing;
    const name = open.get(id);
    open.delete(id);
    const failed = event.status === 'error';
    const error = textOf(fieldsOf(event.error).message);
    const result: Draft<ToolResultEvent> = { type: 'tool_result', id, output: error ?? event.output };
    if (failed || name !== geminiShell) result.ok = !failed;
    if (error !== undefined) result.error = error;
    if (name !== geminiAgentTool) return [result];
    return [result, { type: 'subagent_ended', id, ok: !failed, ...(error && { reason: error }) }];
  }

  function takeResult(event: Fields): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    const models = Object.entries(fieldsOf(fieldsOf(event.stats).models));
    for (const [model, stats] of models) {
      const tokens = geminiStats(fieldsOf(stats));
      if (isNothing(tokens)) continue;
      events.push({ type: 'total', of: 'run', model, calls: Math.ceil((calls + 1) / models.length), ...tokens });
    }
    const reason = textOf(fieldsOf(event.error).message) ?? gaveUp;
    const ok = event.status === 'success' && gaveUp === undefined;
    events.push({ type: 'result', ok, final: true, ...(reason && { reason }) });
    return events;
  }

  return jsonReader(take);
}

/** Which subagent a call of Gemini sends, and what it is asked. */
function geminiAgent(input: Fields): { readonly name?: string; readonly prompt?: string } {
  const name = textOf(input.agent_name) ?? textOf(input.agent) ?? textOf(input.name);
  const prompt = textOf(input.prompt) ?? textOf(input.objective) ?? textOf(input.query);
  return { ...(name && { name }), ...(prompt && { prompt }) };
}
