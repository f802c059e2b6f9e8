/** Determines the preset of a document: the named one, or the one implied by its spelling. */

import { formatChoices } from '../../core/declare/check-value.ts';
import { toSnakeCase } from '../../core/names.ts';
import { describeValue, isTable } from '../../core/plain-copy.ts';
import { presetBySpelling, presets } from '../table/presets.ts';
import type { DocumentEntry } from './document-section.ts';
import { addProblem, type Report } from './report.ts';

/** Reads the preset that an entry names. */
export function readPresetName(report: Report, { value, path }: DocumentEntry): string | undefined {
  if (typeof value === 'string' && Object.hasOwn(presets, value)) return value;
  addProblem(report, path, `must be ${formatChoices(Object.keys(presets))}, got ${describeValue(value)}`);
  return undefined;
}

/** Reads the preset of a whole document and records its origin. */
export function readDocumentPreset(report: Report, entries: ReadonlyMap<string, DocumentEntry>): string | undefined {
  const entry = entries.get('preset');
  const breaker = entries.get('circuit_breaker')?.value;
  const names = isTable(breaker) ? Object.keys(breaker).map(toSnakeCase) : [];
  const spelling = entry ? undefined : names.find((name) => Object.hasOwn(presetBySpelling, name));
  const preset = entry ? readPresetName(report, entry) : spelling && presetBySpelling[spelling];
  if (preset) {
    const note = spelling && { note: `meant by ${spelling}` };
    report.provenance.set('preset', { value: preset, source: report.source, ...note });
  }
  return preset;
}
