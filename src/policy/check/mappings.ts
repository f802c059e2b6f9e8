/** Checks written mappings: how `switchgear run` reads the output lines of programs without a built-in reader. */

import { textProblem } from '../../core/declare/check-value.ts';
import { mappedFields, mappedKinds, type StreamMapping } from '../../core/event-mapping.ts';
import { findNearestName } from '../../core/names.ts';
import { describeValue, emptyTable, type Table } from '../../core/plain-copy.ts';
import { type DocumentEntry, readDocumentEntries } from './document-section.ts';
import { addProblem, type Report } from './report.ts';

/** Reads the mappings of a document, by program name. */
export function readPolicyMappings(
  report: Report,
  { value, path }: DocumentEntry,
): Readonly<Record<string, StreamMapping>> {
  const mappings = emptyTable();
  const programs = readDocumentEntries(report, value, path);
  for (const program of programs) mappings[program.name] = readMapping(report, program);
  report.provenance.set('mappings', { value: programs.length, source: report.source });
  return mappings as Readonly<Record<string, StreamMapping>>;
}

function readMapping(report: Report, { value, path }: DocumentEntry): Table {
  const mapping: Table = { events: emptyTable() };
  for (const { name, value: entryValue, path: entryPath } of readDocumentEntries(report, value, path)) {
    if (name === 'kind') mapping.kind = readPath(report, { name, value: entryValue, path: entryPath });
    else if (name === 'events') mapping.events = readEvents(report, { name, value: entryValue, path: entryPath });
    else addProblem(report, entryPath, 'is not a setting: a mapping has kind and events');
  }
  if (Object.keys(mapping.events as Table).length === 0)
    addProblem(report, path, 'must map at least one kind of event, as in events.call');
  return mapping;
}

function readEvents(report: Report, { value, path }: DocumentEntry): Table {
  const events = emptyTable();
  for (const event of readDocumentEntries(report, value, path)) {
    const { as, ...rest } = Object.fromEntries(
      readDocumentEntries(report, event.value, event.path).map((entry) => [entry.name, entry]),
    ) as Record<string, DocumentEntry>;
    if (!(mappedKinds as readonly unknown[]).includes(as?.value))
      addProblem(
        report,
        as?.path ?? [...event.path, 'as'],
        `must be one of ${mappedKinds.join(', ')}, got ${describeValue(as?.value)}`,
      );
    const mapped: Table = { as: as?.value };
    for (const [name, entry] of Object.entries(rest)) {
      if (!(mappedFields as readonly string[]).includes(name)) {
        const near = findNearestName(name, mappedFields);
        addProblem(report, entry.path, `is not a field of an event${near ? `; did you mean ${near}?` : ''}`);
      }
      mapped[name] = readPath(report, entry);
    }
    events[event.name] = mapped;
  }
  return events;
}

function readPath(report: Report, { value, path }: DocumentEntry): unknown {
  if (typeof value !== 'string' || textProblem(value) !== undefined)
    addProblem(report, path, `must be a path, as in call.id, got ${describeValue(value)}`);
  return value;
}
