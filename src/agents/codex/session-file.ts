/** Reads the rollout files of Codex: one per thread, with the tokens of each model call and the calls of subagents. */

import { createRecentMap } from '../../core/bounded.ts';
import { textOf } from '../../core/foreign-text.ts';
import { openCallsMax } from '../../core/limits.ts';
import type { SessionReaderOptions } from '../claude-code/session-file.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { markEventsOf } from '../reading/event-source.ts';
import { asList, asObject, asText, type JsonObject, jsonReader, noEvents, type Reader } from '../reading/reader.ts';
import { asSessionId } from '../reading/session-id.ts';
import { hasNoTokens } from '../reading/tokens.ts';
import { openaiTokens } from './tokens.ts';

/** A reader of a Codex rollout file, which also reports the thread and its parent. */
export interface CodexSessionReader extends Reader {
  /** The thread of the file and its parent thread, once the first line was read. */
  readonly thread: string | undefined;
  readonly parent: string | undefined;
}

/** Built-in tools of Codex that its stream does not report. */
const unstreamedTools: ReadonlySet<string> = new Set(['view_image', 'get_goal', 'create_goal', 'update_goal']);

/** The output of a patch that could not be applied. */
const failedPatch = /^apply_patch verification failed\b/;

/** Creates a reader of a rollout file of Codex. */
export function codexSessionReader({ besideStream = false }: SessionReaderOptions = {}): CodexSessionReader {
  let thread: string | undefined;
  let parent: string | undefined;
  let model: string | undefined;
  let hasRecords = false;
  /** Calls of the main thread without a result. */
  const heldBackCalls = createRecentMap<JsonObject>(openCallsMax);

  function readLine({ type, ordinal, payload: rawPayload }: JsonObject): readonly AgentEvent[] {
    const payload = asObject(rawPayload);
    switch (type) {
      case 'session_meta':
        return readMeta(payload);
      case 'turn_context':
        model = asText(payload.model) ?? model;
        // The stream does not contain the model, which is needed for the price of its totals.
        return parent === undefined && model !== undefined ? [{ type: 'session', model }] : noEvents;
      case 'token_usage_record':
        hasRecords = true;
        return makeUsage(asText(payload.response_id), asObject(payload.usage));
      case 'response_item':
        return isOnStream() ? readUnstreamed(payload) : readItem(payload);
      case 'event_msg':
        return readEventMessage(payload, ordinal);
      default:
        return noEvents;
    }
  }

  /** The stream reports the main thread, with other ids; threads of subagents are only in files. */
  const isOnStream = () => besideStream && parent === undefined;
  const ownerFields = () => (parent === undefined || thread === undefined ? {} : { agent: thread });

  function readMeta(meta: JsonObject): readonly AgentEvent[] {
    thread = asSessionId(meta.id);
    const spawn = asObject(asObject(asObject(meta.source).subagent).thread_spawn);
    parent = asText(meta.parent_thread_id) ?? asText(spawn.parent_thread_id);
    if (thread === undefined || parent === undefined)
      return thread === undefined ? noEvents : [{ type: 'session', id: thread }];
    const name = asText(spawn.agent_role) ?? asText(meta.agent_role);
    // Threads that the main thread started have no parent subagent.
    const depth = typeof spawn.depth === 'number' ? spawn.depth : 1;
    return [{ type: 'subagent_started', id: thread, ...(name && { name }), ...(depth > 1 && { parent }) }];
  }

  /** Reads calls of the main thread that the stream omits: some built-in tools, and unknown tools. */
  function readUnstreamed(item: JsonObject): readonly AgentEvent[] {
    const id = asText(item.call_id);
    if (id === undefined) return noEvents;
    // The stream has no patch that could not be applied.
    if (item.type === 'custom_tool_call' && item.name === 'apply_patch') heldBackCalls.set(id, item);
    if (item.type === 'custom_tool_call_output') {
      const patch = heldBackCalls.get(id);
      const output = asText(item.output) ?? asText(asObject(item.output).content);
      if (patch === undefined || output === undefined || !failedPatch.test(output)) return noEvents;
      return [...readItem(patch), { type: 'tool_result', id, ok: false, output, ...ownerFields() }];
    }
    if (item.type === 'function_call') {
      if (unstreamedTools.has(textOf(item.name))) return readItem(item);
      heldBackCalls.set(id, item);
      return noEvents;
    }
    if (item.type !== 'function_call_output') return noEvents;
    const call = heldBackCalls.get(id);
    if (call === undefined) return readItem(item);
    return isUnsupportedCall(item.output) ? [...readItem(call), ...readItem(item)] : noEvents;
  }

  function readItem(item: JsonObject): readonly AgentEvent[] {
    const id = asText(item.call_id);
    switch (item.type) {
      case 'function_call':
        return id === undefined ? noEvents : [makeToolUse(id, item.name, parseJson(item.arguments))];
      case 'custom_tool_call':
        return id === undefined ? noEvents : [makeToolUse(id, item.name, { input: item.input })];
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const output = asText(item.output) ?? asText(asObject(item.output).content) ?? item.output;
        const ok = asObject(item.output).success !== false && readExitCode(output) === 0 && !isUnsupportedCall(output);
        return id === undefined ? noEvents : [{ type: 'tool_result', id, ok, output, ...ownerFields() }];
      }
      case 'message': {
        const text = asList(item.content)
          .map((part) => asText(asObject(part).text) ?? '')
          .join('\n');
        if (item.role === 'assistant') return [{ type: 'assistant', text, ...ownerFields() }];
        const isTyped = item.role === 'user' && parent === undefined && !text.startsWith('<');
        return [{ type: 'user', text, by: isTyped ? 'person' : 'harness', ...ownerFields() }];
      }
      default:
        return noEvents;
    }
  }

  function makeToolUse(id: string, name: unknown, input: unknown): AgentEvent {
    return { type: 'tool_use', id, name: asText(name) ?? 'tool', input, ...ownerFields() };
  }

  function readEventMessage(message: JsonObject, ordinal: unknown): readonly AgentEvent[] {
    const item = asObject(message.item);
    switch (message.type) {
      case 'item_completed': {
        const id = asText(item.id);
        if (item.type !== 'CommandExecution' || id === undefined || isOnStream()) return noEvents;
        const ok = item.exit_code === 0 && item.status === 'completed';
        return [{ type: 'tool_result', id, ok, output: item.aggregated_output, ...ownerFields() }];
      }
      case 'token_count': {
        // Older releases write no token records.
        if (hasRecords) return noEvents;
        return makeUsage(`${thread}:${textOf(ordinal)}`, asObject(asObject(message.info).last_token_usage));
      }
      case 'task_complete':
        return makeEnded(true, undefined);
      case 'turn_aborted':
      case 'error':
        return makeEnded(false, asText(message.message) ?? asText(message.reason));
      default:
        return noEvents;
    }
  }

  function makeEnded(ok: boolean, reason: string | undefined): readonly AgentEvent[] {
    if (parent === undefined || thread === undefined) return noEvents;
    return [{ type: 'subagent_ended', id: thread, ok, ...(reason && { reason }) }];
  }

  function makeUsage(id: string | undefined, usage: JsonObject): readonly AgentEvent[] {
    const tokens = openaiTokens(usage);
    if (id === undefined || hasNoTokens(tokens)) return noEvents;
    return [{ type: 'usage', id, ...(model && { model }), ...tokens, ...ownerFields() }];
  }

  return {
    ...markEventsOf(jsonReader(readLine), 'files'),
    get thread() {
      return thread;
    },
    get parent() {
      return parent;
    },
  };
}

function parseJson(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}

/** Whether Codex does not know the tool of a call. */
function isUnsupportedCall(output: unknown): boolean {
  return typeof output === 'string' && output.startsWith('unsupported call: ');
}

/** The exit code in a text, or 0. */
function readExitCode(output: unknown): number {
  const match = typeof output === 'string' ? /^(Process exited with code|Exit code:) (-?\d+)$/m.exec(output) : null;
  return match === null ? 0 : Number(match[2]);
}
