/** Reads fields of lists that hold a text: names, addresses, names of variables. */

import { textProblem } from '../../core/declare/check-value.ts';
import { describeValue } from '../../core/plain-copy.ts';
import type { DocumentEntry } from './document-section.ts';
import { addProblem, type Report } from './report.ts';

export const listedNamePattern = /^[\w-]{1,40}$/;
export const variablePattern = /^[A-Z_a-z][\w]{0,199}$/;

/** Reads a text that must match a pattern; undefined if it is absent or a problem. */
export function readListedText(
  report: Report,
  entry: DocumentEntry | undefined,
  pattern: RegExp,
  requirement: string,
): string | undefined {
  if (entry === undefined) return undefined;
  const { value, path } = entry;
  const problem =
    textProblem(value) ?? (pattern.test(String(value)) ? undefined : `${requirement}, got ${describeValue(value)}`);
  if (problem !== undefined) addProblem(report, path, problem);
  return problem === undefined ? String(value) : undefined;
}

/** Reads an address; a message does not quote it, because it may be a secret. */
export function readUrl(report: Report, entry: DocumentEntry | undefined): string | undefined {
  if (entry === undefined) return undefined;
  const text = String(entry.value);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    addProblem(report, entry.path, 'must be an address that starts with https:// or http://');
  else if (url.username !== '' || url.password !== '')
    addProblem(report, entry.path, 'must have no user and password: put the address into url_env or url_file');
  else return text;
  return undefined;
}

/** The fields that are set. */
export function definedOnly(fields: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
