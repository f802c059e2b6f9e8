/** Checks written webhooks: each has a name and one address, and secrets only by the place where they are. */

import { formatChoices } from '../../core/declare/check-value.ts';
import {
  type WebhookEvent,
  type WebhookFormat,
  type WebhookSettings,
  webhookEvents,
  webhookFields,
  webhookFormats,
  webhooksMax,
} from '../../core/declare/webhook-settings.ts';
import { findNearestName, type Path, toSnakeCase } from '../../core/names.ts';
import { describeValue } from '../../core/plain-copy.ts';
import { type DocumentEntry, readDocumentEntries } from './document-section.ts';
import { addProblem, type Report } from './report.ts';
import { definedOnly, listedNamePattern, readListedText, readUrl, variablePattern } from './text-fields.ts';

/** Reads the webhooks of a document, in order. */
export function readPolicyWebhooks(report: Report, { value, path }: DocumentEntry): readonly WebhookSettings[] {
  if (!Array.isArray(value) || value.length > webhooksMax) {
    addProblem(report, path, `must be a list of at most ${webhooksMax} webhooks, got ${describeValue(value)}`);
    return [];
  }
  const names = new Set<string>();
  const webhooks = value.map((item: unknown, index) => {
    const itemPath = [...path, index];
    const webhook = readWebhook(report, item, itemPath);
    if (names.has(webhook.name)) addProblem(report, itemPath, `repeats the name ${describeValue(webhook.name)}`);
    names.add(webhook.name);
    return webhook;
  });
  report.provenance.set('webhooks', { value: value.length, source: report.source });
  return webhooks;
}

function readWebhook(report: Report, value: unknown, path: Path): WebhookSettings {
  const fields = new Map<string, DocumentEntry>();
  for (const entry of readDocumentEntries(report, value, path)) {
    const name = toSnakeCase(entry.name);
    if (fields.has(name)) addProblem(report, entry.path, `repeats ${name}: keep one of them`);
    else if (Object.hasOwn(webhookFields, name)) fields.set(name, entry);
    else {
      const near = findNearestName(name, Object.keys(webhookFields));
      addProblem(report, entry.path, `is not a field of a webhook${near ? `; did you mean ${near}?` : ''}`);
    }
  }
  const name = readListedText(
    report,
    fields.get('name'),
    listedNamePattern,
    'must be 1 to 40 letters, digits, dashes or underscores',
  );
  if (name === undefined && !fields.has('name')) addProblem(report, path, 'must set name');
  const addresses = {
    url: readUrl(report, fields.get('url')),
    urlEnv: readListedText(report, fields.get('url_env'), variablePattern, 'must be the name of a variable'),
    urlFile: readListedText(report, fields.get('url_file'), /./, 'must be the path of a file'),
  };
  const secrets = {
    secretEnv: readListedText(report, fields.get('secret_env'), variablePattern, 'must be the name of a variable'),
    secretFile: readListedText(report, fields.get('secret_file'), /./, 'must be the path of a file'),
  };
  const count = (names: readonly string[]) => names.filter((each) => fields.has(each)).length;
  if (count(['url', 'url_env', 'url_file']) !== 1)
    addProblem(report, path, 'must set one of url, url_env and url_file');
  if (count(['secret_env', 'secret_file']) > 1) addProblem(report, path, 'must set one of secret_env and secret_file');
  return {
    name: name ?? '',
    ...definedOnly({ ...addresses, ...secrets }),
    format: readFormat(report, fields.get('format')),
    events: readEvents(report, fields.get('events')),
  };
}

function readFormat(report: Report, entry: DocumentEntry | undefined): WebhookFormat {
  if (entry === undefined) return 'json';
  const format = webhookFormats.find((each) => each === entry.value);
  if (format === undefined)
    addProblem(report, entry.path, `must be ${formatChoices(webhookFormats)}, got ${describeValue(entry.value)}`);
  return format ?? 'json';
}

function readEvents(report: Report, entry: DocumentEntry | undefined): readonly WebhookEvent[] {
  if (entry === undefined) return ['alerts'];
  const { value, path } = entry;
  const isEvent = (each: unknown): each is WebhookEvent => (webhookEvents as readonly unknown[]).includes(each);
  if (Array.isArray(value) && value.length > 0 && value.every(isEvent)) return [...new Set(value)];
  addProblem(report, path, `must be a list of ${formatChoices(webhookEvents)}, got ${describeValue(value)}`);
  return ['alerts'];
}
