/** Reads JSON lines of any program, by a mapping of their fields. */

import { SwitchgearError } from '../../core/error.ts';
import {
  type EventMapping,
  type MappedField,
  mappedFields,
  mappedKinds,
  type StreamMapping,
} from '../../core/event-mapping.ts';
import { textOf } from '../../core/foreign-text.ts';
import { openCallsMax } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asCount, asObject, asText, type JsonObject, jsonReader, noEvents, type Reader } from '../reading/reader.ts';

type FieldLookup = (field: MappedField) => unknown;

/** Creates a reader from a mapping; throws an error that quotes an invalid field. */
export function mappedJsonReader(mapping: StreamMapping): Reader {
  const { kind = 'type', events } = checkMapping(mapping);
  const kindPath = kind.split('.');
  const mappedEvents = new Map(
    Object.entries(events).map(([name, paths]) => [name, { as: paths.as, paths: splitPaths(paths) }]),
  );
  const calls = trackCallIds();
  let unnamed = 0;

  return jsonReader((line) => {
    const mapped = mappedEvents.get(textOf(readPath(line, kindPath)));
    if (mapped === undefined) return noEvents;
    const lookup: FieldLookup = (field) => readPath(line, mapped.paths.get(field));
    return [makeEvent(mapped.as, lookup)];
  });

  function makeEvent(as: EventMapping['as'], lookup: FieldLookup): AgentEvent {
    const id = asIdText(lookup('id'));
    const agent = asIdText(lookup('agent'));
    const owner = agent === undefined ? {} : { agent };
    const text = asText(lookup('text'));
    const error = asText(lookup('error'));
    const ok = isOk(lookup('ok')) && error === undefined;
    const name = asText(lookup('name'));
    switch (as) {
      case 'assistant':
        return { type: 'assistant', text: text ?? '', ...owner };
      case 'tool_use':
        return { type: 'tool_use', id: calls.open(id), name: name ?? 'tool', input: lookup('input'), ...owner };
      case 'tool_result': {
        const output = lookup('output') ?? error;
        return { type: 'tool_result', id: calls.close(id), ok, output, ...(error && { error }), ...owner };
      }
      case 'usage': {
        const model = asText(lookup('model'));
        const cost = lookup('cost_usd');
        return {
          type: 'usage',
          id: id ?? `unnamed-${++unnamed}`,
          ...(model && { model }),
          ...(typeof cost === 'number' && { costUsd: cost }),
          inputTokens: asCount(lookup('input_tokens')),
          outputTokens: asCount(lookup('output_tokens')),
          cacheReadTokens: asCount(lookup('cache_read_tokens')),
          cacheWriteTokens: asCount(lookup('cache_write_tokens')),
          ...owner,
        };
      }
      case 'user':
        return { type: 'user', text: text ?? '', by: 'person', ...owner };
      case 'subagent_started': {
        const parent = asIdText(lookup('parent'));
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

/** Makes call ids unique, for programs that reuse ids in each turn or have none. */
function trackCallIds() {
  const rounds = new Map<string, number>();
  const currentId = (id: string) => {
    const round = rounds.get(id) ?? 0;
    return round === 0 ? id : `${id}#${round + 1}`;
  };
  return {
    open: (id = 'call') => currentId(id),
    close(id = 'call') {
      const name = currentId(id);
      if (rounds.size >= openCallsMax && !rounds.has(id)) rounds.clear();
      rounds.set(id, (rounds.get(id) ?? 0) + 1);
      return name;
    },
  };
}

function splitPaths(mapping: EventMapping): ReadonlyMap<MappedField, readonly string[]> {
  return new Map(
    mappedFields.flatMap((field) => (mapping[field] === undefined ? [] : [[field, mapping[field].split('.')]])),
  );
}

function readPath(line: JsonObject, path: readonly string[] | undefined): unknown {
  if (path === undefined) return undefined;
  let value: unknown = line;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return value;
}

/** An id may be a number. */
function asIdText(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : asText(value);
}

const successWords = new Set(['ok', 'success', 'succeeded', 'completed', 'done', 'true', '0']);

/** Whether a result is a success; a missing value is one. */
function isOk(value: unknown): boolean {
  return value === undefined || value === null || successWords.has(textOf(value).toLowerCase());
}

function checkMapping(mapping: StreamMapping): StreamMapping {
  const { kind, events } = asObject(mapping);
  if (kind !== undefined && asText(kind) === undefined)
    throw mappingError(`kind must be a path, got ${quoteValue(kind)}`);
  const entries = Object.entries(asObject(events));
  if (entries.length === 0) throw mappingError(`events must map at least one kind of event, got ${quoteValue(events)}`);
  for (const [name, eventMapping] of entries) {
    const { as, ...paths } = asObject(eventMapping);
    if (!(mappedKinds as readonly unknown[]).includes(as)) {
      throw mappingError(`events.${name}.as must be one of ${mappedKinds.join(', ')}, got ${quoteValue(as)}`);
    }
    for (const [field, path] of Object.entries(paths)) {
      const where = `events.${name}.${field}`;
      if (!(mappedFields as readonly string[]).includes(field))
        throw mappingError(`${where} is not a field; expected one of ${mappedFields.join(', ')}`);
      if (asText(path) === undefined) throw mappingError(`${where} must be a path, got ${quoteValue(path)}`);
    }
  }
  return mapping;
}

function mappingError(what: string): SwitchgearError {
  return new SwitchgearError('mapping_invalid', `the mapping of events: ${what}`);
}
