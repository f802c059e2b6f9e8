/** Reads `claude -p --output-format stream-json --verbose`, with or without `--include-partial-messages`. */

import { textOf } from '../../core/foreign-text.ts';
import type { AgentEvent, UserEvent } from '../reading/agent-event.ts';
import {
  asCount,
  asObject,
  asText,
  heartbeatOnly,
  type JsonObject,
  jsonReader,
  noEvents,
  type Reader,
} from '../reading/reader.ts';
import { asSessionId } from '../reading/session-id.ts';
import { anthropicTokens, hasNoTokens } from '../reading/tokens.ts';
import { createRepeatCheck, readClaudeMessage, readClaudeResults } from './messages.ts';
import { type ClaudeSubagents, trackClaudeSubagents } from './subagents.ts';
import { claudeModelTokens } from './tokens.ts';

/** The subtypes of `system` events that are read. */
const systemSubtypes = new Set(['init', 'task_started', 'task_notification', 'api_retry']);

/** The stop reasons of a successful turn. */
const successReasons = new Set(['completed', 'tool_deferred', 'background_requested']);

/** Creates a function that reads parsed events of Claude Code. */
export function claudeEventReader(subagents = trackClaudeSubagents()): (event: JsonObject) => readonly AgentEvent[] {
  const isRepeated = createRepeatCheck();
  /** The message in progress, according to partial messages. */
  let currentMessage: string | undefined;

  function readEvent(event: JsonObject): readonly AgentEvent[] {
    switch (event.type) {
      case 'assistant': {
        const events: AgentEvent[] = [];
        const agent = subagents.identifyAgent(event, events);
        readClaudeMessage(asObject(event.message), agent, events, subagents.recordCall, isRepeated);
        return events;
      }
      case 'user': {
        const events: AgentEvent[] = [];
        const agent = subagents.identifyAgent(event, events);
        readClaudeResults(asObject(event.message), agent, authorOf(event), events, (id, ok, reason) =>
          subagents.readCallResult(id, ok, reason, asObject(event.tool_use_result), events),
        );
        return events;
      }
      case 'stream_event':
        return readPart(asObject(event.event), asText(event.api_message_id));
      case 'system':
        return readSystem(event, subagents);
      case 'result':
        return readResult(event, !subagents.areRunning());
      default:
        return noEvents;
    }
  }

  function readPart(part: JsonObject, messageId: string | undefined): readonly AgentEvent[] {
    if (part.type === 'message_start') {
      const { id, model, usage } = asObject(part.message);
      currentMessage = asText(id);
      if (currentMessage !== undefined) isRepeated(currentMessage, asObject(usage));
      return makeUsageEvents(currentMessage, asObject(usage), asText(model));
    }
    if (part.type === 'message_delta')
      return makeUsageEvents(messageId ?? currentMessage, asObject(part.usage), undefined);
    return noEvents;
  }

  return readEvent;
}

/** Creates a reader of the event stream of Claude Code (`--output-format stream-json`). */
export function claudeCodeReader(): Reader {
  const subagents = trackClaudeSubagents();
  const { read, end } = jsonReader(claudeEventReader(subagents));
  return {
    read(line) {
      // Most lines of a stream with partial messages are pieces of text. The whole text follows, so they are not
      // parsed.
      if (line.startsWith(piecePrefix)) return heartbeatOnly;
      if (line.startsWith(systemPrefix) && !systemSubtypes.has(quotedTextAt(line, systemPrefix.length)))
        return heartbeatOnly;
      if (!line.startsWith(userPrefix)) return read(line);
      // A result is in the line twice; the second copy is needed only for subagents.
      const at = line.indexOf(repeatedResultField);
      return read(at === -1 || hasSubagentAnswer(line, at, subagents) ? line : `${line.slice(0, at)}}`);
    },
    end,
  };
}

/** Reads `system` events: a session, a subagent, a retry. */
function readSystem(event: JsonObject, subagents: ClaudeSubagents): readonly AgentEvent[] {
  switch (event.subtype) {
    case 'init': {
      const id = asSessionId(event.session_id);
      const model = asText(event.model);
      return [{ type: 'session', ...(id && { id }), ...(model && { model }) }];
    }
    case 'task_started':
      return subagents.readStarted(event);
    case 'task_notification':
      return subagents.readNotification(event);
    case 'api_retry': {
      const what = `the model does not answer (${textOf(event.error ?? event.error_status ?? 'no reason given')})`;
      const text = `${what}: retry ${asCount(event.attempt)} of ${asCount(event.max_retries)}`;
      return [{ type: 'notice', level: 'warning', text }];
    }
    default:
      return noEvents;
  }
}

/** Reads the end of a run, with the totals of each model. `final`: no subagent continues in the background. */
function readResult(event: JsonObject, final: boolean): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  const models = Object.entries(asObject(event.modelUsage));
  for (const [model, usage] of models) {
    const tokens = claudeModelTokens(asObject(usage));
    const calls = Math.max(1, Math.ceil(asCount(event.num_turns) / models.length));
    if (!hasNoTokens(tokens)) events.push({ type: 'total', of: 'run', model, calls, ...tokens });
  }
  const reason = asText(event.terminal_reason) ?? asText(event.subtype);
  const text = asText(event.result);
  const ended = event.terminal_reason === undefined || successReasons.has(textOf(event.terminal_reason));
  const ok = event.subtype === 'success' && event.is_error !== true && ended;
  events.push({ type: 'result', ok, final, ...(text && { text }), ...(reason && { reason }) });
  return events;
}

const piecePrefix = '{"type":"stream_event","event":{"type":"content_block_';
const systemPrefix = '{"type":"system","subtype":"';
const userPrefix = '{"type":"user"';
/** The raw JSON of the field; inside a string its quotes would be escaped. */
const repeatedResultField = ',"tool_use_result":';
const toolUseIdField = '"tool_use_id":"';

/** Whether a line has the answer of a subagent before a position. */
function hasSubagentAnswer(line: string, before: number, subagents: ClaudeSubagents): boolean {
  for (let at = line.indexOf(toolUseIdField); at !== -1 && at < before; at = line.indexOf(toolUseIdField, at + 1)) {
    const from = at + toolUseIdField.length;
    if (subagents.isSubagentCall(quotedTextAt(line, from))) return true;
  }
  return false;
}

/** The quoted string at a position of a line. */
function quotedTextAt(line: string, from: number): string {
  return line.slice(from, line.indexOf('"', from));
}

function makeUsageEvents(id: string | undefined, usage: JsonObject, model: string | undefined): readonly AgentEvent[] {
  const tokens = anthropicTokens(usage);
  if (id === undefined || hasNoTokens(tokens)) return noEvents;
  return [{ type: 'usage', id, ...(model && { model }), ...tokens }];
}

/** Whether a person or Claude Code itself wrote a user message, as far as the stream shows it. */
function authorOf(event: JsonObject): UserEvent['by'] {
  const { isSynthetic, isMeta, parent_tool_use_id: call } = event;
  const origin = asText(asObject(event.origin).kind);
  const isOther = origin !== undefined && origin !== 'human';
  return isSynthetic === true || isMeta === true || isOther || asText(call) !== undefined ? 'harness' : 'person';
}
