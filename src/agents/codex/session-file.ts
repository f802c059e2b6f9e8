/** Reads the rollout files of Codex: one per thread, with the tokens of each model call and the calls of subagents. */

import { createRecentMap } from '../../core/bounded.ts';
import { openCallsMax } from '../../core/limits.ts';
import type { SessionReaderOptions } from '../claude-code/session-file.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, jsonReader, listOf, nothing, type Reader, textOf } from '../reading/reader.ts';
import { isNothing, openaiTokens } from '../reading/tokens.ts';

export interface CodexSessionReader extends Reader {
  /** The thread it is about, and the one that sent it, once its first line was read. */
  readonly thread: string | undefined;
  readonly parent: string | undefined;
}

/** Tools of Codex's own that no event of its stream shows. */
const unshown: ReadonlySet<string> = new Set(['view_image', 'get_goal', 'create_goal', 'update_goal']);

export function codexSessionReader({ beside = false }: SessionReaderOptions = {}): CodexSessionReader {
  let thread: string | undefined;
  let parent: string | undefined;
  let model: string | undefined;
  let hasRecords = false;
  /** Calls of the main thread whose results are yet to come. */
  const asked = createRecentMap<Fields>(openCallsMax);

  function take({ type, ordinal, payload: said }: Fields): readonly AgentEvent[] {
    const payload = fieldsOf(said);
    switch (type) {
      case 'session_meta':
        return takeMeta(payload);
      case 'turn_context':
        model = textOf(payload.model) ?? model;
        // The stream does not say it, and its totals are to be priced.
        return parent === undefined && model !== undefined ? [{ type: 'session', model }] : nothing;
      case 'token_usage_record':
        hasRecords = true;
        return usage(textOf(payload.response_id), fieldsOf(payload.usage));
      case 'response_item':
        return isShown() ? takeUnshown(payload) : takeItem(payload);
      case 'event_msg':
        return takeNews(payload, ordinal);
      default:
        return nothing;
    }
  }

  /** The main thread is on the stream, with other ids; threads of subagents are here alone. */
  const isShown = () => beside && parent === undefined;
  const of = () => (parent === undefined || thread === undefined ? {} : { agent: thread });

  function takeMeta(meta: Fields): readonly AgentEvent[] {
    thread = textOf(meta.id);
    const spawn = fieldsOf(fieldsOf(fieldsOf(meta.source).subagent).thread_spawn);
    parent = textOf(meta.parent_thread_id) ?? textOf(spawn.parent_thread_id);
    if (thread === undefined || parent === undefined)
      return thread === undefined ? nothing : [{ type: 'session', id: thread }];
    const name = textOf(spawn.agent_role) ?? textOf(meta.agent_role);
    // Threads sent by the main one have no parent to be named.
    const depth = typeof spawn.depth === 'number' ? spawn.depth : 1;
    return [{ type: 'subagent_started', id: thread, ...(name && { name }), ...(depth > 1 && { parent }) }];
  }

  /** Calls of the main thread that its stream leaves out: some of Codex's own, and those of tools it does not have. */
  function takeUnshown(item: Fields): readonly AgentEvent[] {
    const id = textOf(item.call_id);
    if (id === undefined) return nothing;
    if (item.type === 'function_call') {
      if (unshown.has(String(item.name))) return takeItem(item);
      asked.set(id, item);
      return nothing;
    }
    if (item.type !== 'function_call_output') return nothing;
    const call = asked.get(id);
    if (call === undefined) return takeItem(item);
    return isRefused(item.output) ? [...takeItem(call), ...takeItem(item)] : nothing;
  }

  function takeItem(item: Fields): readonly AgentEvent[] {
    const id = textOf(item.call_id);
    switch (item.type) {
      case 'function_call':
        return id === undefined ? nothing : [callOf(id, item.name, parsed(item.arguments))];
      case 'custom_tool_call':
        return id === undefined ? nothing : [callOf(id, item.name, { input: item.input })];
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const output = textOf(item.output) ?? textOf(fieldsOf(item.output).content) ?? item.output;
        const ok = fieldsOf(item.output).success !== false && exitOf(output) === 0 && !isRefused(output);
        return id === undefined ? nothing : [{ type: 'tool_result', id, ok, output, ...of() }];
      }
      case 'message': {
        const text = listOf(item.content)
          .map((part) => textOf(fieldsOf(part).text) ?? '')
          .join('\n');
        if (item.role === 'assistant') return [{ type: 'assistant', text, ...of() }];
        const isTyped = item.role === 'user' && parent === undefined && !text.startsWith('<');
        return [{ type: 'user', text, by: isTyped ? 'person' : 'harness', ...of() }];
      }
      default:
        return nothing;
    }
  }

  function callOf(id: string, name: unknown, input: unknown): AgentEvent {
    return { type: 'tool_use', id, name: textOf(name) ?? 'tool', input, ...of() };
  }

  function takeNews(news: Fields, ordinal: unknown): readonly AgentEvent[] {
    const item = fieldsOf(news.item);
    switch (news.type) {
      case 'item_completed': {
        const id = textOf(item.id);
        if (item.type !== 'CommandExecution' || id === undefined || isShown()) return nothing;
        const ok = item.exit_code === 0 && item.status === 'completed';
        return [{ type: 'tool_result', id, ok, output: item.aggregated_output, ...of() }];
      }
      case 'token_count': {
        // Releases before the records have nothing else.
        if (hasRecords) return nothing;
        return usage(`${thread}:${ordinal}`, fieldsOf(fieldsOf(news.info).last_token_usage));
      }
      case 'task_complete':
        return ended(true, undefined);
      case 'turn_aborted':
      case 'error':
        return ended(false, textOf(news.message) ?? textOf(news.reason));
      default:
        return nothing;
    }
  }

  function ended(ok: boolean, reason: string | undefined): readonly AgentEvent[] {
    if (parent === undefined || thread === undefined) return nothing;
    return [{ type: 'subagent_ended', id: thread, ok, ...(reason && { reason }) }];
  }

  function usage(id: string | undefined, told: Fields): readonly AgentEvent[] {
    const tokens = openaiTokens(told);
    if (id === undefined || isNothing(tokens)) return nothing;
    return [{ type: 'usage', id, ...(model && { model }), ...tokens, ...of() }];
  }

  return {
    ...jsonReader(take),
    get thread() {
      return thread;
    },
    get parent() {
      return parent;
    },
  };
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}

/** The tool is none that Codex has. */
function isRefused(output: unknown): boolean {
  return typeof output === 'string' && output.startsWith('unsupported call: ');
}

/** The exit code that a text tells; 0 where it tells none. */
function exitOf(output: unknown): number {
  const told = typeof output === 'string' ? /^(Process exited with code|Exit code:) (-?\d+)$/m.exec(output) : null;
  return told === null ? 0 : Number(told[2]);
}
