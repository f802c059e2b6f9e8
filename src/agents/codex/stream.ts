/** Reads `codex exec --json`: items that start, change and complete. */

import { textOf } from '../../core/foreign-text.ts';
import { openCallsMax } from '../../core/limits.ts';
import type { AgentEvent, ToolResultEvent } from '../reading/agent-event.ts';
import {
  asList,
  asObject,
  asText,
  type Draft,
  type JsonObject,
  jsonReader,
  noEvents,
  type Reader,
} from '../reading/reader.ts';
import { asSessionId } from '../reading/session-id.ts';
import { hasNoTokens } from '../reading/tokens.ts';
import { trackCodexThreads } from './subagents.ts';
import { openaiTokens } from './tokens.ts';

export interface CodexOptions {
  /** The model on the command line; the stream does not contain it. */
  readonly model?: string;
  /** Whether the thread is resumed; its totals then include earlier usage. */
  readonly resumed?: boolean;
}

/** Creates a reader of the event stream of Codex (`exec --json`). */
export function codexReader(options: CodexOptions = {}): Reader {
  return jsonReader(codexEventReader(options));
}

/** Creates a function that reads parsed events of Codex. */
export function codexEventReader({
  model,
  resumed = false,
}: CodexOptions = {}): (event: JsonObject) => readonly AgentEvent[] {
  const openItems = new Set<string>();
  const threads = trackCodexThreads();
  let calls = 0;

  /** Reads an item that is a call. Most items are reported when they start; some only when they complete. */
  function readCallItem(item: JsonObject, isOver: boolean): readonly AgentEvent[] {
    const id = asText(item.id);
    const call = id === undefined ? undefined : readCall(item);
    if (id === undefined || call === undefined) return noEvents;
    const events: AgentEvent[] = [];
    if (!openItems.has(id)) {
      events.push({ type: 'tool_use', id, name: call.name, input: call.input });
      calls++;
      if (openItems.size < openCallsMax) openItems.add(id);
    }
    if (item.type === 'collab_tool_call') threads.readCollabCall(item, isOver, events);
    if (!isOver) return events;
    openItems.delete(id);
    const { ok, output, error } = call;
    const result: Draft<ToolResultEvent> = { type: 'tool_result', id, ok, output };
    if (error !== undefined) result.error = error;
    events.push(result);
    return events;
  }

  function readEvent(event: JsonObject): readonly AgentEvent[] {
    const item = asObject(event.item);
    const text = asText(item.text);
    switch (event.type) {
      case 'thread.started': {
        const id = asSessionId(event.thread_id);
        return [{ type: 'session', ...(id && { id }), ...(model && { model }) }];
      }
      case 'item.started':
      case 'item.updated':
        return readCallItem(item, false);
      case 'item.completed':
        if (item.type === 'agent_message' && text !== undefined) return [{ type: 'assistant', text }];
        if (item.type === 'error') return [{ type: 'notice', level: 'warning', text: textOf(item.message) }];
        return readCallItem(item, true);
      case 'turn.completed':
        return [...readTotal(asObject(event.usage)), { type: 'result', ok: true, final: true }];
      case 'turn.failed': {
        const reason = readErrorMessage(asObject(event.error).message);
        return [{ type: 'result', ok: false, final: true, ...(reason && { reason }) }];
      }
      case 'error':
        return [{ type: 'notice', level: 'error', text: readErrorMessage(event.message) ?? 'an error without words' }];
      default:
        return noEvents;
    }
  }

  function readTotal(usage: JsonObject): readonly AgentEvent[] {
    const tokens = openaiTokens(usage);
    if (hasNoTokens(tokens)) return noEvents;
    const details = { ...(model && { model }), ...(resumed && { resumed }) };
    return [{ type: 'total', of: 'thread', calls: calls + 1, ...details, ...tokens }];
  }

  return readEvent;
}

interface CodexCall {
  readonly name: string;
  readonly input: unknown;
  readonly ok: boolean;
  readonly output?: unknown;
  readonly error?: string | undefined;
}

function readCall(item: JsonObject): CodexCall | undefined {
  const ok = item.status !== 'failed' && item.status !== 'declined';
  switch (item.type) {
    case 'command_execution': {
      const output = item.aggregated_output;
      const isZero = typeof item.exit_code !== 'number' || item.exit_code === 0;
      return { name: 'shell', input: { command: item.command }, ok: ok && isZero, output };
    }
    case 'file_change':
      // The stream has no patch, so nobody can say that two patches are equal.
      return { name: 'apply_patch', input: { changes: item.changes, item: item.id }, ok };
    case 'mcp_tool_call': {
      const { content, structured_content } = asObject(item.result);
      const name = `mcp__${textOf(item.server)}__${textOf(item.tool)}`;
      const error = asText(asObject(item.error).message);
      const output = error ?? joinContentTexts(content) ?? structured_content;
      return { name, input: item.arguments, ok: ok && error === undefined, output, error };
    }
    case 'collab_tool_call': {
      const { tool, prompt, receiver_thread_ids: to } = item;
      return { name: textOf(tool), input: { prompt, to }, ok, output: item.agents_states };
    }
    case 'web_search':
      return { name: 'web_search', input: { query: item.query }, ok };
    default:
      return undefined; // Plans, reasoning and to-do lists are not calls.
  }
}

function joinContentTexts(content: unknown): string | undefined {
  const texts = asList(content).map((part) => asText(asObject(part).text) ?? '');
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** The text of an error, which is often the JSON body of an HTTP response. */
function readErrorMessage(message: unknown): string | undefined {
  const text = asText(message);
  if (text?.startsWith('{') !== true) return text;
  try {
    return asText(asObject(asObject(JSON.parse(text)).error).message) ?? text;
  } catch {
    return text;
  }
}
