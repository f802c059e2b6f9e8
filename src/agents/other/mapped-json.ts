/** Reads JSON lines of any program, by a mapping that says where things stand in them. */

import { SwitchgearError } from '../../core/error.ts';
import {
  type EventMapping,
  type MappedField,
  mappedFields,
  mappedKinds,
  type StreamMapping,
} from '../../core/event-mapping.ts';
import { openCallsMax } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { countOf, type Fields, fieldsOf, jsonReader, nothing, type Reader, textOf } from '../reading/reader.ts';

type Look = (field: MappedField) => unknown;

/** A reader by a mapping; one that is wrong is an error that quotes it. */
export function mappedJsonReader(mapping: StreamMapping): Reader {
  const { kind = 'type', events } = checkMapping(mapping);
  const kindPath = kind.split('.');
  const known = new Map(Object.entries(events).map(([name, paths]) => [name, { as: paths.as, paths: split(paths) }]));
  const calls = callNames();
  let unnamed = 0;

  return jsonReader((line) => {
    const found = known.get(String(follow(line, kindPath)));
    if (found === undefined) return nothing;
    const look: Look = (field) => follow(line, found.paths.get(field));
    return [eventOf(found.as, look)];
  });

  function eventOf(as: EventMapping['as'], look: Look): AgentEvent {
    const id = wordOf(look('id'));
    const agent = wordOf(look('agent'));
    const of = agent === undefined ? {} : { agent };
    const text = textOf(look('text'));
    const error = textOf(look('error'));
    const ok = isOk(look('ok')) && error === undefined;
    const name = textOf(look('name'));
    switch (as) {
      case 'assistant':
        return { type: 'assistant', text: text ?? '', ...of };
      case 'tool_use':
        return { type: 'tool_use', id: calls.opened(id), name: name ?? 'tool', input: look('input'), ...of };
      case 'tool_result': {
        const output = look('output') ?? error;
        return { type: 'tool_result', id: calls.closed(id), ok, output, ...(error && { error }), ...of };
      }
      case 'usage': {
        const model = textOf(look('model'));
        const cost = look('cost_usd');
        return {
          type: 'usage',
          id: id ?? `unnamed-${++unnamed}`,
          ...(model && { model }),
          ...(typeof cost === 'number' && { costUsd: cost }),
          inputTokens: countOf(look('input_tokens')),
          outputTokens: countOf(look('output_tokens')),
          cacheReadTokens: countOf(look('cache_read_tokens')),
          cacheWriteTokens: countOf(look('cache_write_tokens')),
          ...of,
        };
      }
      case 'user':
        return { type: 'user', text: text ?? '', by: 'person', ...of };
      case 'subagent_started': {
        const parent = wordOf(look('parent'));
        return { type: 'subagent_started', id: id ?? '', ...(name && { name }), ...(parent && { parent }) };
      }
      case 'subagent_ended':
        return { type: 'subagent_ended', id: id ?? '', ok, ...(error && { reason: error }) };
      case 'result':
        return { type: 'result', ok, final: true, ...(text && { text }), ...(error && { reason: error }) };
      case 'notice':
        return { type: 'notice', level: 'info', text: text ?? error ?? '' };
    }
  }
}

/** Gives every call an id of its own, where a program numbers its calls anew each turn or not at all. */
function callNames() {
  const rounds = new Map<string, number>();
  const named = (id: string) => {
    const round = rounds.get(id) ?? 0;
    return round === 0 ? id : `${id}#${round + 1}`;
  };
  return {
    opened: (id = 'call') => named(id),
    closed(id = 'call') {
      const name = named(id);
      if (rounds.size >= openCallsMax && !rounds.has(id)) rounds.clear();
      rounds.set(id, (rounds.get(id) ?? 0) + 1);
      return name;
    },
  };
}

function split(mapping: EventMapping): ReadonlyMap<MappedField, readonly string[]> {
  return new Map(
    mappedFields.flatMap((field) => (mapping[field] === undefined ? [] : [[field, mapping[field].split('.')]])),
  );
}

function follow(line: Fields, path: readonly string[] | undefined): unknown {
  if (path === undefined) return undefined;
  let value: unknown = line;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Fields)[key];
  }
  return value;
}

/** An id may be a number. */
function wordOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : textOf(value);
}

const goodWords = new Set(['ok', 'success', 'succeeded', 'completed', 'done', 'true', '0']);

/** What is not told is a success. */
function isOk(value: unknown): boolean {
  return value === undefined || value === null || goodWords.has(String(value).toLowerCase());
}

function checkMapping(mapping: StreamMapping): StreamMapping {
  const { kind, events } = fieldsOf(mapping);
  if (kind !== undefined && textOf(kind) === undefined) throw wrong(`kind must be a path, got ${quoteValue(kind)}`);
  const entries = Object.entries(fieldsOf(events));
  if (entries.length === 0)
    throw wrong(`events must say what at least one kind of event is, got ${quoteValue(events)}`);
  for (const [name, said] of entries) {
    const { as, ...paths } = fieldsOf(said);
    if (!(mappedKinds as readonly unknown[]).includes(as)) {
      throw wrong(`events.${name}.as must be one of ${mappedKinds.join(', ')}, got ${quoteValue(as)}`);
    }
    for (const [field, path] of Object.entries(paths)) {
      const where = `events.${name}.${field}`;
      if (!(mappedFields as readonly string[]).includes(field))
        throw wrong(`${where} is no field: ${mappedFields.join(', ')}`);
      if (textOf(path) === undefined) throw wrong(`${where} must be a path, got ${quoteValue(path)}`);
    }
  }
  return mapping;
}

function wrong(what: string): SwitchgearError {
  return new SwitchgearError('mapping_invalid', `the mapping of events: ${what}`);
}
