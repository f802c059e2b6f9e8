/**
 * Reads flat JSON events of unknown programs: `assistant`, `tool_use`, `tool_result`, `usage`, `user`, `result` and
 * `error`, with the usual names for their fields. An event whose fields have other names is not understood.
 */

import { textOf } from '../../core/foreign-text.ts';
import { openCallsMax, plainWordsMin } from '../../core/limits.ts';
import type { AgentEvent, ToolResultEvent } from '../reading/agent-event.ts';
import { asList, asObject, asText, type Draft, type JsonObject, noEvents } from '../reading/reader.ts';
import { readUsage } from './reported-usage.ts';

/** Reads a parsed event; returns undefined if it is not understood. */
export type ShapeReader = (event: JsonObject) => readonly AgentEvent[] | undefined;

/** Types that say nothing that is counted. */
const silentTypes = new Set(
  (
    'ping start start_step step_start step_started finish status session_end reasoning thinking turn_start turn_end ' +
    'turn_started turn_ended message_start message_end text_start text_end reasoning_start reasoning_delta ' +
    'reasoning_end thinking_start thinking_delta thinking_end tool_input_start tool_input_delta tool_input_end ' +
    'message_update message_delta assistant_message_delta assistant_turn_start assistant_turn_end ' +
    'assistant_reasoning assistant_reasoning_delta tool_execution_update tool_execution_progress agent_start ' +
    'agent_end session session_start session_started run_started complete completed completion done end finished'
  ).split(' '),
);

/** Creates a reader of flat events. It numbers calls without an id, so that a result without an id finds its call. */
export function simpleEventReader(): ShapeReader {
  const openUnnamed: string[] = [];
  let unnamed = 0;

  function nameCall(): string {
    const id = `unnamed-call-${++unnamed}`;
    if (openUnnamed.length < openCallsMax) openUnnamed.push(id);
    return id;
  }

  function readCall(event: JsonObject): AgentEvent[] | undefined {
    const called = asObject(event.function);
    const name = findText({ ...called, ...event }, ['name', 'tool_name', 'toolName', 'tool']);
    if (name === undefined) return undefined;
    const id = findText(event, callIdNames) ?? nameCall();
    const input = event.input ?? event.args ?? event.arguments ?? event.parameters ?? called.arguments;
    return [{ type: 'tool_use', id, name, input: parseCallInput(input) }];
  }

  /** A call and its result as one type, told apart by `subtype`: `{"tool_call":{"readToolCall":{"args":…}}}`. */
  function readCallStage(event: JsonObject): AgentEvent[] | undefined {
    const { tool_call: inner, subtype, ...rest } = event;
    const [key = '', value] = Object.entries(asObject(inner)).find(([, each]) => asObject(each) === each) ?? [];
    const isNamed = asText(asObject(inner).name) !== undefined;
    const call = isNamed ? asObject(inner) : asObject(value);
    const name = isNamed ? call.name : key.replace(/ToolCall$/, '');
    if (subtype !== 'completed') return readCall({ ...call, name, ...rest });
    const result = asObject(event.result ?? call.result);
    const failure = result.error ?? result.failure ?? result.rejected ?? result.timeout;
    return readCallResult({
      ...rest,
      output: event.result ?? call.result,
      ...(failure !== undefined && { error: true }),
    });
  }

  /** What an agent did, named by `action` or by the tool: `{"type":"action","action":"run","command":"ls"}`. */
  function readAction(event: JsonObject): readonly AgentEvent[] | undefined {
    const {
      type,
      kind,
      id,
      tool_call_id: call,
      action,
      args,
      timestamp,
      source,
      thought,
      tool_name,
      ...fields
    } = event;
    const name = asText(tool_name) ?? asText(action);
    if (name === undefined || name === 'message') {
      const text = asText(asObject(args).content) ?? asText(event.content);
      return name === undefined || text === undefined ? undefined : [{ type: 'assistant', text }];
    }
    if (/^(finish|think|system|recall)$/.test(name)) return noEvents;
    const input = asObject(action) === action ? action : (args ?? fields);
    return readCall({ name, input, ...(call === undefined ? { id } : { id: call }) });
  }

  function readObservation(event: JsonObject): AgentEvent[] | undefined {
    const { id, cause, tool_call_id: call, observation, ...fields } = event;
    const seen = asObject(observation);
    const output = event.content ?? (seen === observation ? (seen.content ?? seen) : undefined);
    const link = call ?? cause;
    return readCallResult({ ...seen, ...fields, output, ...(link !== undefined && { id: link }) });
  }

  function readCallResult(event: JsonObject): AgentEvent[] | undefined {
    const id = findText(event, callIdNames) ?? openUnnamed.shift();
    if (id === undefined) return undefined;
    const result: Draft<ToolResultEvent> = { type: 'tool_result', id, ok: isOk(event) };
    result.output = event.output ?? event.content ?? event.result ?? event.value ?? event.text;
    const error = describeError(event.error);
    if (error !== undefined) result.error = error;
    return [result];
  }

  function readFields(event: JsonObject, kind: string): readonly AgentEvent[] | undefined {
    switch (kind) {
      case 'assistant':
      case 'assistant_message':
      case 'agent_message': {
        const text = [event.text, event.content, event.message].find((each) => typeof each === 'string');
        const requests = asList(event.toolRequests ?? event.toolCalls ?? event.tool_calls);
        const calls = requests.flatMap((each) => readCall(asObject(each)) ?? []);
        if (calls.length > 0) return text ? [{ type: 'assistant', text, toolUse: true }, ...calls] : calls;
        if (text === undefined) return undefined;
        const { toolUse } = event;
        return [{ type: 'assistant', text, ...(typeof toolUse === 'boolean' && { toolUse }) }];
      }
      case 'text':
      case 'message': {
        const text = asText(event.text) ?? asText(event.content);
        if (text === undefined || (kind === 'message' && event.role !== 'assistant')) return undefined;
        // Programs print whole texts and pieces under this name; a piece has few words.
        const isPiece = kind === 'text' && text.split(/\s+/, plainWordsMin).length < plainWordsMin;
        return [{ type: 'assistant', text, ...(isPiece && { piece: true }) }];
      }
      case 'text_delta': {
        const text = asText(event.text) ?? asText(event.delta) ?? asText(event.textDelta);
        return text === undefined ? undefined : [{ type: 'assistant', text, piece: true }];
      }
      case 'tool_use':
      case 'tool_call':
        return asObject(event.tool_call) === event.tool_call ? readCallStage(event) : readCall(event);
      case 'tool_start':
      case 'tool_started':
      case 'tool_call_started':
      case 'tool_execution_start':
      case 'tool_execution_started':
        return readCall(event);
      case 'tool_result':
      case 'tool_error':
      case 'tool_output':
      case 'tool_end':
      case 'tool_finished':
      case 'tool_completed':
      case 'tool_call_completed':
      case 'tool_execution_end':
      case 'tool_execution_complete':
      case 'tool_execution_completed':
        return readCallResult(kind === 'tool_error' ? { is_error: true, ...event } : event);
      case 'action':
      case 'action_event':
        return readAction(event);
      case 'observation':
      case 'observation_event':
        return readObservation(event);
      case 'usage':
      case 'tokens':
      case 'token_usage':
      case 'token_count':
      case 'assistant_usage':
      case 'model_usage':
      case 'finish_step':
        return readUsage(event, () => `unnamed-usage-${++unnamed}`);
      case 'user':
      case 'user_message': {
        const text = asText(event.text) ?? asText(event.content) ?? asText(event.message);
        return text === undefined ? undefined : [{ type: 'user', text, by: 'person' }];
      }
      case 'result': {
        const text = asText(event.text) ?? asText(event.result) ?? asText(event.output) ?? asText(event.answer);
        const reason = describeError(event.error);
        return [{ type: 'result', ok: isOk(event), final: true, ...(text && { text }), ...(reason && { reason }) }];
      }
      case 'error': {
        const text = describeError(event.error) ?? asText(event.message) ?? asText(event.text);
        return [{ type: 'notice', level: 'error', text: text ?? 'an error without words' }];
      }
      default:
        return silentTypes.has(kind) ? noEvents : undefined;
    }
  }

  return (event) => {
    const agent = findText(event, ['taskId', 'task_id', 'task']);
    const kind = toSnakeCase(asText(event.type) ?? asText(event.event) ?? asText(event.kind) ?? '');
    const inner = asObject(event.data ?? event.payload);
    // Some programs put the fields of an event into an envelope.
    const events = readFields(event, kind) ?? (inner === none ? undefined : readFields({ ...inner, type: kind }, kind));
    return agent === undefined ? events : events?.map((each) => ({ ...each, agent }) as AgentEvent);
  };
}

/** The ids of a call, as programs name them. */
const callIdNames = 'id call_id callId tool_use_id toolUseId tool_call_id toolCallId tool_id toolId callID'.split(' ');

/** Arguments that a program prints as a JSON text. */
export function parseCallInput(input: unknown): unknown {
  if (typeof input !== 'string' || !/^\s*[{[]/.test(input)) return input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

const failedStatus = /^(error|errored|failed|failure|denied|declined|rejected|cancelled|canceled|timeout|timed_out)$/i;

/** Whether a result is a success; undefined if the event does not say it. */
function isOk(event: JsonObject): boolean {
  if (event.ok === false || event.success === false || event.is_error === true || event.isError === true) return false;
  if (event.error !== undefined && event.error !== null && event.error !== false && event.error !== '') return false;
  if (typeof event.exit_code === 'number' && event.exit_code !== 0) return false;
  return !failedStatus.test(textOf(event.status ?? ''));
}

const none = asObject(undefined);

function describeError(error: unknown): string | undefined {
  return asText(error) ?? asText(asObject(error).message);
}

export function findText(event: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = event[name];
    if (typeof value === 'number') return String(value);
    if (asText(value) !== undefined) return asText(value);
  }
  return undefined;
}

/** `tool-call`, `toolCall` and `tool.call` are the same type. */
function toSnakeCase(type: string): string {
  return type
    .slice(0, 100)
    .replaceAll(/[-. ]/g, '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
}
