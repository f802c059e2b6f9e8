/** Reads `codex exec --json`: items that start, change and complete. */

import { openCallsMax } from '../../core/limits.ts';
import type { AgentEvent, ToolResultEvent } from '../reading/agent-event.ts';
import {
  type Draft,
  type Fields,
  fieldsOf,
  jsonReader,
  listOf,
  nothing,
  type Reader,
  textOf,
} from '../reading/reader.ts';
import { isNothing, openaiTokens } from '../reading/tokens.ts';
import { codexCollab } from './subagents.ts';

export interface CodexOptions {
  /** As the command line says; the stream does not tell it. */
  readonly model?: string;
  /** The thread was used before: its totals have what it used then. */
  readonly resumed?: boolean;
}

export function codexReader({ model, resumed = false }: CodexOptions = {}): Reader {
  const open = new Set<string>();
  const collab = codexCollab();
  let calls = 0;

  /** A call is told when its item starts; some items only complete. */
  function callOf(item: Fields, isOver: boolean): readonly AgentEvent[] {
    const id = textOf(item.id);
    const call = id === undefined ? undefined : readCall(item);
    if (id === undefined || call === undefined) return nothing;
    const events: AgentEvent[] = [];
    if (!open.has(id)) {
      events.push({ type: 'tool_use', id, name: call.name, input: call.input });
      calls++;
      if (open.size < openCallsMax) open.add(id);
    }
    if (item.type === 'collab_tool_call') collab.take(item, isOver, events);
    if (!isOver) return events;
    open.delete(id);
    const { ok, output, error } = call;
    const result: Draft<ToolResultEvent> = { type: 'tool_result', id, ok, output };
    if (error !== undefined) result.error = error;
    events.push(result);
    return events;
  }

  function take(event: Fields): readonly AgentEvent[] {
    const item = fieldsOf(event.item);
    const text = textOf(item.text);
    switch (event.type) {
      case 'thread.started': {
        const id = textOf(event.thread_id);
        return [{ type: 'session', ...(id && { id }), ...(model && { model }) }];
      }
      case 'item.started':
      case 'item.updated':
        return callOf(item, false);
      case 'item.completed':
        if (item.type === 'agent_message' && text !== undefined) return [{ type: 'assistant', text }];
        if (item.type === 'error') return [{ type: 'notice', level: 'warning', text: String(item.message) }];
        return callOf(item, true);
      case 'turn.completed':
        return [...totalOf(fieldsOf(event.usage)), { type: 'result', ok: true, final: true }];
      case 'turn.failed': {
        const reason = messageOf(fieldsOf(event.error).message);
        return [{ type: 'result', ok: false, final: true, ...(reason && { reason }) }];
      }
      case 'error':
        return [{ type: 'notice', level: 'error', text: messageOf(event.message) ?? 'an error without words' }];
      default:
        return nothing;
    }
  }

  function totalOf(usage: Fields): readonly AgentEvent[] {
    const tokens = openaiTokens(usage);
    if (isNothing(tokens)) return nothing;
    const of = { ...(model && { model }), ...(resumed && { resumed }) };
    return [{ type: 'total', of: 'thread', calls: calls + 1, ...of, ...tokens }];
  }

  return jsonReader(take);
}

interface CodexCall {
  readonly name: string;
  readonly input: unknown;
  readonly ok: boolean;
  readonly output?: unknown;
  readonly error?: string | undefined;
}

function readCall(item: Fields): CodexCall | undefined {
  const ok = item.status !== 'failed' && item.status !== 'declined';
  switch (item.type) {
    case 'command_execution': {
      const output = item.aggregated_output;
      const isZero = typeof item.exit_code !== 'number' || item.exit_code === 0;
      return { name: 'shell', input: { command: item.command }, ok: ok && isZero, output };
    }
    case 'file_change':
      return { name: 'apply_patch', input: { changes: item.changes }, ok };
    case 'mcp_tool_call': {
      const { content, structured_content } = fieldsOf(item.result);
      const name = `mcp__${item.server}__${item.tool}`;
      const error = textOf(fieldsOf(item.error).message);
      const output = error ?? textsOf(content) ?? structured_content;
      return { name, input: item.arguments, ok: ok && error === undefined, output, error };
    }
    case 'collab_tool_call': {
      const { tool, prompt, receiver_thread_ids: to } = item;
      return { name: String(tool), input: { prompt, to }, ok, output: item.agents_states };
    }
    case 'web_search':
      return { name: 'web_search', input: { query: item.query }, ok };
    default:
      return undefined; // Plans, thoughts and lists of things to do are no calls.
  }
}

function textsOf(content: unknown): string | undefined {
  const texts = listOf(content).map((part) => textOf(fieldsOf(part).text) ?? '');
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** The words of an error; often they are the body of an answer, as text. */
function messageOf(message: unknown): string | undefined {
  const text = textOf(message);
  if (text?.startsWith('{') !== true) return text;
  try {
    return textOf(fieldsOf(fieldsOf(JSON.parse(text)).error).message) ?? text;
  } catch {
    return text;
  }
}
