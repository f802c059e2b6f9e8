/** Reads `claude -p --output-format stream-json --verbose`, with or without `--include-partial-messages`. */

import type { AgentEvent, UserEvent } from '../reading/agent-event.ts';
import { alive, countOf, type Fields, fieldsOf, jsonReader, nothing, type Reader, textOf } from '../reading/reader.ts';
import { anthropicTokens, claudeModelTokens, isNothing } from '../reading/tokens.ts';
import { claudeMessage, claudeResults, lastUsage } from './messages.ts';
import { claudeSubagents } from './subagents.ts';

/** What the program says of itself that is of interest. */
const systemTold = new Set(['init', 'task_started', 'task_notification', 'api_retry']);

/** Reasons at which a turn ended as it should. */
const goodEnds = new Set(['completed', 'tool_deferred', 'background_requested']);

export function claudeCodeReader(): Reader {
  const subagents = claudeSubagents();
  const isRepeated = lastUsage();
  /** The message that is being written, as partial messages tell it. */
  let writing: string | undefined;

  function take(event: Fields): readonly AgentEvent[] {
    switch (event.type) {
      case 'assistant': {
        const events: AgentEvent[] = [];
        const agent = subagents.agentOf(event, events);
        claudeMessage(fieldsOf(event.message), agent, events, subagents.send, isRepeated);
        return events;
      }
      case 'user': {
        const events: AgentEvent[] = [];
        const agent = subagents.agentOf(event, events);
        claudeResults(fieldsOf(event.message), agent, whoSays(event), events, (id, ok, reason) =>
          subagents.callReturned(id, ok, reason, fieldsOf(event.tool_use_result), events),
        );
        return events;
      }
      case 'stream_event':
        return takePart(fieldsOf(event.event), textOf(event.api_message_id));
      case 'system':
        return takeSystem(event);
      case 'result':
        return takeResult(event);
      default:
        return nothing;
    }
  }

  function takePart(part: Fields, said: string | undefined): readonly AgentEvent[] {
    if (part.type === 'message_start') {
      const { id, model, usage } = fieldsOf(part.message);
      writing = textOf(id);
      if (writing !== undefined) isRepeated(writing, fieldsOf(usage));
      return usageOf(writing, fieldsOf(usage), textOf(model));
    }
    if (part.type === 'message_delta') return usageOf(said ?? writing, fieldsOf(part.usage), undefined);
    return nothing;
  }

  function takeSystem(event: Fields): readonly AgentEvent[] {
    switch (event.subtype) {
      case 'init': {
        const id = textOf(event.session_id);
        const model = textOf(event.model);
        return [{ type: 'session', ...(id && { id }), ...(model && { model }) }];
      }
      case 'task_started':
        return subagents.started(event);
      case 'task_notification':
        return subagents.notified(event);
      case 'api_retry': {
        const what = `the model does not answer (${event.error ?? event.error_status ?? 'no reason given'})`;
        const text = `${what}: retry ${countOf(event.attempt)} of ${countOf(event.max_retries)}`;
        return [{ type: 'notice', level: 'warning', text }];
      }
      default:
        return nothing;
    }
  }

  function takeResult(event: Fields): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    const models = Object.entries(fieldsOf(event.modelUsage));
    for (const [model, usage] of models) {
      const tokens = claudeModelTokens(fieldsOf(usage));
      const calls = Math.max(1, Math.ceil(countOf(event.num_turns) / models.length));
      if (!isNothing(tokens)) events.push({ type: 'total', of: 'run', model, calls, ...tokens });
    }
    const reason = textOf(event.terminal_reason) ?? textOf(event.subtype);
    const text = textOf(event.result);
    const ended = event.terminal_reason === undefined || goodEnds.has(String(event.terminal_reason));
    const ok = event.subtype === 'success' && event.is_error !== true && ended;
    const final = !subagents.areOut();
    events.push({ type: 'result', ok, final, ...(text && { text }), ...(reason && { reason }) });
    return events;
  }

  /** Whether a line has the answer of a subagent before a place in it. */
  function isAnswer(line: string, before: number): boolean {
    for (let at = line.indexOf(answered); at !== -1 && at < before; at = line.indexOf(answered, at + 1)) {
      const from = at + answered.length;
      if (subagents.wasSent(wordAt(line, from))) return true;
    }
    return false;
  }

  const { read, end } = jsonReader(take);
  return {
    read(line) {
      // The bulk of a stream with partial messages: the whole text follows, so its pieces need not be taken apart.
      if (line.startsWith(piece)) return alive;
      if (line.startsWith(system) && !systemTold.has(wordAt(line, system.length))) return alive;
      if (!line.startsWith(result)) return read(line);
      // A result is told twice, and the second time is of interest for subagents alone.
      const at = line.indexOf(again);
      return read(at === -1 || isAnswer(line, at) ? line : `${line.slice(0, at)}}`);
    },
    end,
  };
}

const piece = '{"type":"stream_event","event":{"type":"content_block_';
const system = '{"type":"system","subtype":"';
const result = '{"type":"user"';
/** In a text their quotes would be escaped: these can only be the fields. */
const again = ',"tool_use_result":';
const answered = '"tool_use_id":"';

/** What stands in quotes from a place on. */
function wordAt(line: string, from: number): string {
  return line.slice(from, line.indexOf('"', from));
}

function usageOf(id: string | undefined, usage: Fields, model: string | undefined): readonly AgentEvent[] {
  const tokens = anthropicTokens(usage);
  if (id === undefined || isNothing(tokens)) return nothing;
  return [{ type: 'usage', id, ...(model && { model }), ...tokens }];
}

/** Words that were typed, as far as the stream tells them from those that the harness puts there. */
function whoSays(event: Fields): UserEvent['by'] {
  const { isSynthetic, isMeta, parent_tool_use_id: call } = event;
  const origin = textOf(fieldsOf(event.origin).kind);
  const isOther = origin !== undefined && origin !== 'human';
  return isSynthetic === true || isMeta === true || isOther || textOf(call) !== undefined ? 'harness' : 'person';
}
