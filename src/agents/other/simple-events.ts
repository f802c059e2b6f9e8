/**
 * Reads flat JSON events of unknown programs: `assistant`, `tool_use`, `tool_result`, `usage`, `user`, `result` and
 * `error`, with the usual names for their fields. An event whose fields have other names is not understood.
 */

import { textOf } from '../../core/foreign-text.ts';
import { openCallsMax } from '../../core/limits.ts';
import { readAnyTokens } from '../../core/prices/any-tokens.ts';
import type { AgentEvent, ToolResultEvent, UsageEvent } from '../reading/agent-event.ts';
import { asObject, asText, type Draft, type JsonObject, noEvents } from '../reading/reader.ts';

/** Reads a parsed event; returns undefined if it is not understood. */
export type ShapeReader = (event: JsonObject) => readonly AgentEvent[] | undefined;

/** Types that say nothing that is counted. */
const silentTypes = new Set(
  (
    'ping start start_step step_start step_started finish status session_end reasoning thinking turn_start turn_end ' +
    'turn_started turn_ended message_start message_end text_start text_end reasoning_start reasoning_delta ' +
    'reasoning_end thinking_start thinking_delta thinking_end tool_input_start tool_input_delta tool_input_end'
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

  function readCallResult(event: JsonObject): AgentEvent[] | undefined {
    const id = findText(event, callIdNames) ?? openUnnamed.shift();
    if (id === undefined) return undefined;
    const result: Draft<ToolResultEvent> = { type: 'tool_result', id, ok: isOk(event) };
    result.output = event.output ?? event.content ?? event.result ?? event.text;
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
        if (text === undefined) return undefined;
        const { toolUse } = event;
        return [{ type: 'assistant', text, ...(typeof toolUse === 'boolean' && { toolUse }) }];
      }
      case 'text_delta': {
        const text = asText(event.text) ?? asText(event.delta) ?? asText(event.textDelta);
        return text === undefined ? undefined : [{ type: 'assistant', text, piece: true }];
      }
      case 'tool_use':
      case 'tool_call':
        return readCall(event);
      case 'tool_result':
      case 'tool_error':
      case 'tool_output':
        return readCallResult(kind === 'tool_error' ? { is_error: true, ...event } : event);
      case 'usage':
      case 'token_usage':
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
    const events = readFields(event, toSnakeCase(textOf(event.type)));
    return agent === undefined ? events : events?.map((each) => ({ ...each, agent }) as AgentEvent);
  };
}

/** The ids of a call, as programs name them. */
const callIdNames = 'id call_id callId tool_use_id toolUseId tool_call_id toolCallId tool_id toolId callID'.split(' ');

/** Reads the usage of an event: in its field `usage`, or its own fields. Undefined if no count can be read. */
export function readUsage(event: JsonObject, nameUsage: () => string): readonly AgentEvent[] | undefined {
  const tokens = readAnyTokens({ ...event, ...asObject(event.usage) });
  const costUsd = [event.costUsd, event.cost_usd, event.total_cost_usd].find((each) => typeof each === 'number');
  if (tokens === undefined && costUsd === undefined) return undefined;
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const usage: Draft<UsageEvent> = { type: 'usage', id: asText(event.id) ?? nameUsage(), ...(tokens ?? none) };
  const model = asText(event.model);
  if (model !== undefined) usage.model = model;
  if (costUsd !== undefined && costUsd >= 0) usage.costUsd = costUsd;
  return [usage];
}

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
