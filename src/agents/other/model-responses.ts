/**
 * Reads the responses of model APIs, as programs print them line by line: OpenAI's chat completions and responses,
 * whole or streamed; Gemini's; the raw stream of an Anthropic message.
 */

import { textOf } from '../../core/foreign-text.ts';
import { openCallsMax, textLengthMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asList, asObject, asText, type JsonObject, noEvents } from '../reading/reader.ts';
import { readUsage } from './reported-usage.ts';
import { findText, parseCallInput, type ShapeReader } from './simple-events.ts';

/** A call whose arguments arrive in pieces. */
interface PartialCall {
  readonly id: string;
  readonly name: string;
  text: string;
}

/** Creates a reader of responses. Each function of it returns undefined for an event of another shape. */
export function modelResponseReader(): ShapeReader {
  const partialCalls = new Map<string, PartialCall>();
  const readItems = new Set<string>();
  let unnamed = 0;
  let rawMessage: string | undefined;
  /** The message of Gemini's responses without an id, until one says that it is complete. */
  let unnamedMessage: string | undefined;

  const name = () => `unnamed-response-${++unnamed}`;
  const usageOf = (source: JsonObject, id = asText(source.id)) =>
    readUsage({ model: source.model, id, usage: source.usage ?? source.usageMetadata }, name) ?? noEvents;

  function addPart(key: string, id: unknown, called: unknown, text: unknown): void {
    const known = partialCalls.get(key);
    if (known === undefined && (asText(called) === undefined || partialCalls.size >= openCallsMax)) return;
    const call = known ?? { id: asText(id) ?? name(), name: textOf(called), text: '' };
    if (call.text.length < textLengthMax) call.text += asText(text) ?? '';
    partialCalls.set(key, call);
  }

  function closeCalls(message: string | undefined, key?: string): AgentEvent[] {
    const closed = [...partialCalls].filter(([each]) => key === undefined || each === key);
    return closed.map(([each, { id, name, text }]) => {
      partialCalls.delete(each);
      return { type: 'tool_use', id, name, input: parseCallInput(text || '{}'), ...(message && { message }) };
    });
  }

  function readChat(event: JsonObject): readonly AgentEvent[] | undefined {
    if (!Array.isArray(event.choices)) return undefined;
    const message = asText(event.id);
    const events: AgentEvent[] = [];
    for (const each of event.choices) {
      const choice = asObject(each);
      const delta = asObject(choice.delta);
      const text = asText(delta.content);
      if (text !== undefined) events.push({ type: 'assistant', text, piece: true, ...(message && { message }) });
      for (const part of asList(delta.tool_calls)) {
        const { index, id, function: called } = asObject(part);
        const { name, arguments: text } = asObject(called);
        addPart(`${textOf(choice.index ?? 0)}/${textOf(index ?? 0)}`, id, name, text);
      }
      if (asText(choice.finish_reason) !== undefined) events.push(...closeCalls(message));
      if (choice.message !== undefined) events.push(...(readChatMessage(asObject(choice.message), message) ?? []));
    }
    events.push(...usageOf(event));
    return events;
  }

  /** A message of a conversation, by its role. */
  function readChatMessage(message: JsonObject, id = asText(message.id)): AgentEvent[] | undefined {
    const { role, content } = message;
    const text = readContent(content);
    if (role === 'tool' || role === 'function') {
      const call = asText(message.tool_call_id) ?? asText(message.name);
      return call === undefined ? undefined : [{ type: 'tool_result', id: call, output: text ?? content }];
    }
    if (role === 'user' || role === 'human')
      return text === undefined ? undefined : [{ type: 'user', text, by: 'person' }];
    if (role === 'system' || role === 'developer') return [];
    if (role !== 'assistant' && role !== 'model' && role !== 'ai') return undefined;
    const calls = [
      ...asList(message.tool_calls),
      ...(message.function_call ? [{ function: message.function_call }] : []),
    ];
    const events: AgentEvent[] = [];
    const origin = id === undefined ? {} : { message: id };
    if (text !== undefined && text !== '') events.push({ type: 'assistant', text, ...origin });
    for (const each of calls) {
      const call = asObject(each);
      const called = { ...call, ...asObject(call.function) };
      const tool = findText(called, ['name', 'tool']);
      const input = parseCallInput(called.arguments ?? called.args ?? called.input);
      if (tool !== undefined)
        events.push({ type: 'tool_use', id: asText(call.id) ?? name(), name: tool, input, ...origin });
    }
    events.push(...usageOf(message, id));
    // A message without words and calls is an empty turn only if it says so.
    if (events.length > 0 || (content === null && calls.length === 0)) return events;
    return text === '' ? [{ type: 'assistant', text: '', ...origin }] : undefined;
  }

  /** An item of a response, which repeats the items that were streamed. */
  function readItemOnce(item: JsonObject): AgentEvent[] | undefined {
    const id = asText(item.id);
    if (id !== undefined && readItems.has(id)) return [];
    if (id !== undefined && readItems.size < openCallsMax) readItems.add(id);
    return readItem(item);
  }

  /** An item of OpenAI's responses. */
  function readItem(item: JsonObject): AgentEvent[] | undefined {
    const id = asText(item.id);
    const call = asText(item.call_id) ?? id;
    switch (item.type) {
      case 'message':
        return readChatMessage({ ...item, usage: undefined });
      case 'function_call':
      case 'custom_tool_call':
        return [
          {
            type: 'tool_use',
            id: call ?? name(),
            name: asText(item.name) ?? 'tool',
            input: parseCallInput(item.arguments ?? item.input),
          },
        ];
      case 'function_call_output':
      case 'custom_tool_call_output':
        return call === undefined ? undefined : [{ type: 'tool_result', id: call, output: item.output }];
      case 'reasoning':
        return [];
      default:
        return undefined;
    }
  }

  function readResponse(event: JsonObject): readonly AgentEvent[] | undefined {
    const type = textOf(event.type);
    if (event.object === 'response') return readWholeResponse(event);
    if (!type.startsWith('response.')) return undefined;
    if (type === 'response.output_item.done') return readItemOnce(asObject(event.item)) ?? noEvents;
    if (type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed')
      return readWholeResponse(asObject(event.response));
    return noEvents;
  }

  function readWholeResponse(response: JsonObject): readonly AgentEvent[] {
    const events = asList(response.output).flatMap((each) => readItemOnce(asObject(each)) ?? []);
    readItems.clear();
    return [...events, ...usageOf(response)];
  }

  function readGemini(event: JsonObject): readonly AgentEvent[] | undefined {
    if (!Array.isArray(event.candidates)) return undefined;
    unnamedMessage ??= name();
    const message = asText(event.responseId) ?? unnamedMessage;
    const origin = { message };
    if (event.candidates.some((each) => asText(asObject(each).finishReason) !== undefined)) unnamedMessage = undefined;
    const parts = event.candidates.flatMap((each) => asList(asObject(asObject(each).content).parts));
    const events = parts.flatMap((each): AgentEvent[] => {
      const { text, thought, functionCall } = asObject(each);
      const call = asObject(functionCall);
      const called = asText(call.name);
      if (called !== undefined)
        return [{ type: 'tool_use', id: asText(call.id) ?? name(), name: called, input: call.args, ...origin }];
      const words = thought === true ? undefined : asText(text);
      return words === undefined ? [] : [{ type: 'assistant', text: words, piece: true, ...origin }];
    });
    return [...events, ...usageOf({ ...event, model: event.modelVersion }, asText(event.responseId))];
  }

  /** The raw stream of an Anthropic message. */
  function readRawStream(event: JsonObject): readonly AgentEvent[] | undefined {
    const key = `block/${textOf(event.index ?? 0)}`;
    const origin = rawMessage === undefined ? {} : { message: rawMessage };
    switch (event.type) {
      case 'message_start': {
        const message = asObject(event.message);
        rawMessage = asText(message.id) ?? name();
        return usageOf(message, rawMessage);
      }
      case 'content_block_start': {
        const block = asObject(event.content_block);
        if (block.type === 'tool_use') addPart(key, block.id, block.name, undefined);
        return noEvents;
      }
      case 'content_block_delta': {
        const delta = asObject(event.delta);
        if (delta.type === 'input_json_delta') addPart(key, undefined, undefined, delta.partial_json);
        const text = delta.type === 'text_delta' ? asText(delta.text) : undefined;
        return text === undefined ? noEvents : [{ type: 'assistant', text, piece: true, ...origin }];
      }
      case 'content_block_stop':
        return closeCalls(rawMessage, key);
      case 'message_delta':
        return usageOf(event, rawMessage);
      case 'message_stop':
        return noEvents;
      default:
        return undefined;
    }
  }

  return (event) =>
    readRawStream(event) ??
    readChat(event) ??
    readResponse(event) ??
    readGemini(event) ??
    (asText(event.role) === undefined ? readItem(event) : readChatMessage(event));
}

/** The text of a message; undefined if its content is none. */
function readContent(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part) => (typeof part === 'string' ? part : asText(asObject(part).text)));
  return texts.some((text) => text !== undefined) ? texts.filter((text) => text !== undefined).join('\n') : undefined;
}
