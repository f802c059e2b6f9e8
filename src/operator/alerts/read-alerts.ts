/** Reads the alerts of a store: the rules in force, the causes that fire, and the webhooks with their deliveries. */

import type { CrossProcessStore, StoredCell } from '../../ports/store.ts';
import {
  type AlertLease,
  type AlertRecord,
  type AlertWebhook,
  alertCausesMax,
  alertLeaseKey,
  alertPrefix,
  type Delivery,
  type WebhookProgress,
  webhookPrefix,
} from './alert-cells.ts';
import { type AlertRule, alertNames, webhookFailuresMin } from './rules.ts';

/** An alert that fires. */
export type FiringAlert = Pick<AlertRecord, 'rule' | 'subject' | 'value' | 'limit' | 'card' | 'sinceWallMs'>;

/** A webhook with its progress. */
export interface ShownWebhook extends AlertWebhook {
  /** `unused`: nothing was sent yet. */
  readonly state: 'working' | 'failing' | 'unused';
  readonly failures: number;
  readonly dropped: number;
  readonly lastDelivery?: Delivery;
}

/** The alerts of a store. */
export interface AlertSummary {
  /** Whether a server evaluates; without one nothing fires. */
  readonly isEvaluated: boolean;
  /** The process of that server. */
  readonly evaluatedBy?: string;
  readonly rules: readonly AlertRule[];
  /** The longest first. */
  readonly firing: readonly FiringAlert[];
  /** Causes that are over, the newest first. */
  readonly over: readonly (FiringAlert & { readonly overWallMs: number })[];
  readonly webhooks: readonly ShownWebhook[];
  /** The newest deliveries of all webhooks, newest first. */
  readonly deliveries: readonly (Delivery & { readonly webhook: string })[];
}

const overShown = 50;
const deliveriesShown = 50;

/** Reads the alerts of a store. */
export async function readAlerts(store: CrossProcessStore): Promise<AlertSummary> {
  const lease = await readAlertLease(store);
  const records = [...(await readAlertRecords(store)).values()];
  const progress = await readWebhookProgress(store);
  const isEvaluated = lease !== undefined && lease.untilMs > store.clock.nowMs();
  const { holder, rules = [], webhooks = [] } = lease ?? {};
  const deliveries = webhooks
    .flatMap(({ name }) => (progress.get(name)?.deliveries ?? []).map((each) => ({ webhook: name, ...each })))
    .toSorted((one, other) => other.wallMs - one.wallMs);
  return {
    isEvaluated,
    ...(isEvaluated && holder !== undefined && { evaluatedBy: holder }),
    rules,
    firing: records
      .filter(({ overWallMs }) => overWallMs === undefined)
      .map(showRecord)
      .toSorted((one, other) => one.sinceWallMs - other.sinceWallMs),
    over: records
      .flatMap((record) =>
        record.overWallMs === undefined ? [] : [{ ...showRecord(record), overWallMs: record.overWallMs }],
      )
      .toSorted((one, other) => other.overWallMs - one.overWallMs)
      .slice(0, overShown),
    webhooks: webhooks.map((webhook) => showWebhook(webhook, progress.get(webhook.name))),
    deliveries: deliveries.slice(0, deliveriesShown),
  };
}

function showRecord({ rule, subject, value, limit, card, sinceWallMs }: AlertRecord): FiringAlert {
  return { rule, subject, value, limit, card, sinceWallMs };
}

function showWebhook(webhook: AlertWebhook, progress: WebhookProgress | undefined): ShownWebhook {
  const { failures = 0, dropped = 0, deliveries = [] } = progress ?? {};
  const isFailing = webhook.problem !== undefined || failures >= webhookFailuresMin;
  const [lastDelivery] = deliveries;
  return {
    ...webhook,
    state: isFailing ? 'failing' : lastDelivery === undefined ? 'unused' : 'working',
    failures,
    dropped,
    ...(lastDelivery !== undefined && { lastDelivery }),
  };
}

/** The lease of the server that evaluates alerts; undefined if none ever did. */
export async function readAlertLease({ shared }: CrossProcessStore): Promise<AlertLease | undefined> {
  const [row] = await shared.read(alertLeaseKey, 1);
  return row?.key === alertLeaseKey ? ((row.state as AlertLease | null) ?? undefined) : undefined;
}

/** The causes by their keys: all of them, because one that is not seen would never end. */
export async function readAlertRecords({ shared }: CrossProcessStore): Promise<ReadonlyMap<string, AlertRecord>> {
  const rows = await readPages(
    shared,
    alertPrefix,
    alertNames.map((name) => `${alertPrefix}${name}/`),
  );
  return new Map(rows.flatMap(({ key, state }) => (state === null ? [] : [[key, state as AlertRecord]])));
}

/** Reads the cells with a prefix; those of more than one page by longer prefixes, since keys end with a hash. */
async function readPages(
  shared: CrossProcessStore['shared'],
  prefix: string,
  longer = hexDigits.map((digit) => prefix + digit),
): Promise<readonly StoredCell[]> {
  const rows = await shared.read(prefix, pageSize);
  if (rows.length < pageSize) return rows;
  const pages: StoredCell[] = [];
  for (const each of longer) pages.push(...(await readPages(shared, each)));
  return pages;
}

const pageSize = alertCausesMax * 10;
const hexDigits = [...'0123456789abcdef'];

/** The progress of webhooks by name. */
export async function readWebhookProgress({
  shared,
}: CrossProcessStore): Promise<ReadonlyMap<string, WebhookProgress>> {
  const rows = await shared.read(webhookPrefix, 1_000);
  return new Map(
    rows.flatMap(({ key, state }) =>
      state === null ? [] : [[key.slice(webhookPrefix.length), state as WebhookProgress]],
    ),
  );
}
