/** Checks written upstreams of the gateway: each has a name and an address, and its key by the place where it is. */

import { formatChoices, textProblem } from '../../core/declare/check-value.ts';
import {
  type UpstreamApi,
  type UpstreamSettings,
  upstreamApis,
  upstreamFields,
  upstreamHeadersMax,
  upstreamModelsMax,
  upstreamsMax,
} from '../../core/declare/upstream-settings.ts';
import { findNearestName, type Path, toSnakeCase } from '../../core/names.ts';
import { describeValue } from '../../core/plain-copy.ts';
import { type DocumentEntry, readDocumentEntries } from './document-section.ts';
import { addProblem, type Report } from './report.ts';
import { definedOnly, listedNamePattern, readListedText, readUrl, variablePattern } from './text-fields.ts';

/** Headers that the gateway writes itself. */
const ownHeaders = /^(host|connection|keep-alive|transfer-encoding|content-.*|te|trailer|upgrade|expect|proxy-.*)$/i;

/** Reads the upstreams of a document, in order. */
export function readPolicyUpstreams(report: Report, { value, path }: DocumentEntry): readonly UpstreamSettings[] {
  if (!Array.isArray(value) || value.length > upstreamsMax) {
    addProblem(report, path, `must be a list of at most ${upstreamsMax} upstreams, got ${describeValue(value)}`);
    return [];
  }
  const upstreams = value.map((item: unknown, index) => readUpstream(report, item, [...path, index]));
  upstreams.forEach(({ name, fallback }, index) => {
    const itemPath = [...path, index];
    if (upstreams.findIndex((each) => each.name === name) < index)
      addProblem(report, itemPath, `repeats the name ${describeValue(name)}`);
    if (fallback !== undefined && (fallback === name || !upstreams.some((each) => each.name === fallback)))
      addProblem(report, [...itemPath, 'fallback'], `must name another upstream, got ${describeValue(fallback)}`);
  });
  report.provenance.set('upstreams', { value: value.length, source: report.source });
  return upstreams;
}

function readUpstream(report: Report, value: unknown, path: Path): UpstreamSettings {
  const fields = new Map<string, DocumentEntry>();
  for (const entry of readDocumentEntries(report, value, path)) {
    const name = toSnakeCase(entry.name);
    if (fields.has(name)) addProblem(report, entry.path, `repeats ${name}: keep one of them`);
    else if (Object.hasOwn(upstreamFields, name)) fields.set(name, entry);
    else {
      const near = findNearestName(name, Object.keys(upstreamFields));
      addProblem(report, entry.path, `is not a field of an upstream${near ? `; did you mean ${near}?` : ''}`);
    }
  }
  for (const name of ['name', 'url']) if (!fields.has(name)) addProblem(report, path, `must set ${name}`);
  if (fields.has('key_env') && fields.has('key_file')) addProblem(report, path, 'must set one of key_env and key_file');
  const nameRule = 'must be 1 to 40 letters, digits, dashes or underscores';
  return {
    name: readListedText(report, fields.get('name'), listedNamePattern, nameRule) ?? '',
    url: readBaseUrl(report, fields.get('url')),
    apis: readApis(report, fields.get('apis')),
    models: readModels(report, fields.get('models')),
    headers: readHeaders(report, fields.get('headers')),
    ...definedOnly({
      keyEnv: readListedText(report, fields.get('key_env'), variablePattern, 'must be the name of a variable'),
      keyFile: readListedText(report, fields.get('key_file'), /./, 'must be the path of a file'),
      fallback: readListedText(report, fields.get('fallback'), listedNamePattern, nameRule),
    }),
  };
}

function readBaseUrl(report: Report, entry: DocumentEntry | undefined): string {
  const url = readUrl(report, entry);
  if (url === undefined) return '';
  const { search, hash } = new URL(url);
  if (search + hash !== '') addProblem(report, entry!.path, 'must have no query: put keys into key_env or headers');
  return url;
}

function readApis(report: Report, entry: DocumentEntry | undefined): readonly UpstreamApi[] {
  if (entry === undefined) return upstreamApis;
  const { value, path } = entry;
  const isApi = (each: unknown): each is UpstreamApi => (upstreamApis as readonly unknown[]).includes(each);
  if (Array.isArray(value) && value.length > 0 && value.every(isApi)) return [...new Set(value)];
  const wrong = Array.isArray(value) && value.length > 0 ? value.find((each) => !isApi(each)) : value;
  addProblem(report, path, `must be a list of ${formatChoices(upstreamApis)}, got ${describeValue(wrong)}`);
  return [];
}

function readModels(report: Report, entry: DocumentEntry | undefined): readonly string[] {
  if (entry === undefined) return ['*'];
  const { value, path } = entry;
  const isList = Array.isArray(value) && value.length > 0 && value.length <= upstreamModelsMax;
  if (isList && value.every((each) => textProblem(each) === undefined)) return value as readonly string[];
  addProblem(report, path, `must be a list of 1 to ${upstreamModelsMax} globs, got ${describeValue(value)}`);
  return [];
}

/** Reads headers; no message quotes a value, because it may be a secret. */
function readHeaders(report: Report, entry: DocumentEntry | undefined): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (entry === undefined) return headers;
  const entries = readDocumentEntries(report, entry.value, entry.path);
  if (entries.length > upstreamHeadersMax) addProblem(report, entry.path, `must be at most ${upstreamHeadersMax}`);
  for (const { name, value, path } of entries) {
    const lower = name.toLowerCase();
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) addProblem(report, path, 'is not the name of a header');
    else if (ownHeaders.test(name)) addProblem(report, path, 'is a header that the gateway writes itself');
    else if (Object.hasOwn(headers, lower)) addProblem(report, path, `repeats ${lower}: keep one of them`);
    else if (typeof value !== 'string' || !/^[\t\x20-\x7e]{1,4000}$/.test(value))
      addProblem(report, path, 'must be a text of one line');
    else headers[lower] = value;
  }
  return headers;
}
