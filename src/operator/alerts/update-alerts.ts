/**
 * Turns the causes of an evaluation into cards: one per cause and period. A cause that is over closes its card, and one
 * that comes back within the period opens the same card again. Every change is one transaction that also checks the
 * lease, so that two servers never report the same.
 */

import { createHash } from 'node:crypto';
import { applyChanges } from '../../chains/run/storage/values.ts';
import type { Card } from '../../core/card.ts';
import type { AlertSettings } from '../../core/settings.ts';
import type { Change, CrossProcessStore } from '../../ports/store.ts';
import { overText } from '../cards.ts';
import {
  type AlertLease,
  type AlertRecord,
  alertKeepMs,
  alertLeaseKey,
  alertLeaseMs,
  alertPrefix,
  alertRewriteMs,
} from './alert-cells.ts';
import type { AlertCause } from './find-causes.ts';
import { readAlertRecords } from './read-alerts.ts';
import { listAlertRules } from './rules.ts';

/** Ids of cards that an alert opened begin so. */
export const alertCardPrefix = 'card-alert-';

/** Begins a line of evidence about a cause that came back. */
const againText = 'Again since ';

/** Takes or renews the lease; false if another server has it, or the store is away. */
export async function takeLease(
  store: CrossProcessStore,
  lease: Omit<AlertLease, 'holder' | 'untilMs'>,
  leaseMs = alertLeaseMs,
): Promise<boolean> {
  const { shared, clock } = store;
  const holder = shared.process;
  const change: Change<AlertLease | null> = {
    cell: leaseCell(store),
    update(stored) {
      const atMs = clock.nowMs();
      if (stored !== null && stored.holder !== holder && stored.untilMs > atMs) return 'refuse';
      return { state: { ...lease, holder, untilMs: atMs + leaseMs } };
    },
  };
  return (await shared.commit({ changes: [change as Change] })).status === 'committed';
}

/** Gives the lease back, so that another server takes it at once. */
export async function releaseLease(store: CrossProcessStore): Promise<void> {
  const change: Change<AlertLease | null> = {
    cell: leaseCell(store),
    update: (stored) => (stored?.holder === store.shared.process ? { state: { ...stored, untilMs: 0 } } : 'refuse'),
  };
  await store.shared.commit({ changes: [change as Change] });
}

/** The change that rejects a transaction of a server without the lease. */
export function requireLease(store: CrossProcessStore): Change {
  const change: Change<AlertLease | null> = {
    cell: leaseCell(store),
    update: (stored) => (stored?.holder === store.shared.process ? 'keep' : 'refuse'),
  };
  return change as Change;
}

function leaseCell(store: CrossProcessStore) {
  return store.cell<AlertLease | null>(alertLeaseKey, () => null);
}

/** Brings cards and records in line with the causes. */
export async function updateAlerts(
  store: CrossProcessStore,
  causes: readonly AlertCause[],
  settings: AlertSettings,
): Promise<void> {
  const records = await readAlertRecords(store);
  const found = new Map(causes.map((cause) => [recordKey(cause), cause]));
  for (const [key, cause] of found) await updateCause(store, key, cause, records.get(key), settings);
  for (const [key, record] of records) {
    if (found.has(key) || record.overWallMs !== undefined) continue;
    const isHigher = found.has(key.replace('BudgetBurn80', 'BudgetBurn95'));
    await endCause(store, key, record, isHigher ? ': the next threshold is reached' : '');
  }
}

function recordKey({ rule, key }: Pick<AlertCause, 'rule' | 'key'>): string {
  return `${alertPrefix}${rule}/${shortHash(key)}`;
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

async function updateCause(
  store: CrossProcessStore,
  key: string,
  cause: AlertCause,
  record: AlertRecord | undefined,
  settings: AlertSettings,
): Promise<void> {
  const atMs = store.clock.nowMs();
  if (record === undefined) return fire(store, key, cause, record, settings);
  const isPeriodOver = atMs - record.firedMs >= settings.periodSecs * 1000;
  if (record.overWallMs !== undefined)
    return isPeriodOver ? fire(store, key, cause, record, settings) : reopen(store, key, cause, record);
  if (isPeriodOver && cause.repeats) {
    // Its end was reported, so the next evaluation reports that it lasts.
    if (record.cameBack) return endCause(store, key, record, ': it lasts, and has a new card');
    if (!(await isCardOpen(store, record.card))) return fire(store, key, cause, record, settings);
  }
  const isDue = atMs - record.seenMs >= alertRewriteMs;
  if (isDue) await writeRecord(store, key, record, { ...record, value: cause.value, seenMs: atMs });
}

async function isCardOpen({ shared }: CrossProcessStore, id: string): Promise<boolean> {
  const rows = await shared.read(`card/${id}`, 1);
  return rows.some(({ key, state }) => key === `card/${id}` && (state as Card | null)?.state === 'open');
}

/** Opens the card of a new period. */
async function fire(
  store: CrossProcessStore,
  key: string,
  cause: AlertCause,
  record: AlertRecord | undefined,
  settings: AlertSettings,
): Promise<void> {
  const { clock } = store;
  const card = cause.card ?? makeCard(key, cause, settings, clock.wallMs());
  const next: AlertRecord = {
    ...{ rule: cause.rule, subject: cause.subject, value: cause.value, limit: cause.limit, card: card.id },
    ...{ sinceWallMs: clock.wallMs(), firedMs: clock.nowMs(), seenMs: clock.nowMs() },
  };
  // A card that exists already is reported once more, and stays as it is.
  await writeRecord(store, key, record, next, card, cause.card === undefined ? (stored) => stored ?? card : undefined);
}

/** Opens the card of this period again, unless a person closed it. */
async function reopen(
  store: CrossProcessStore,
  key: string,
  { value }: AlertCause,
  record: AlertRecord,
): Promise<void> {
  const { overWallMs: _, ...rest } = record;
  const next = { ...rest, value, seenMs: store.clock.nowMs(), cameBack: true } as const;
  const again = `${againText}${formatWallTime(store.clock.wallMs())}`;
  await writeCard(store, key, record, next, (stored) => {
    if (stored.state !== 'expired') return stored;
    const evidence = [...stored.evidence.filter((line) => !isTimeLine(line)), again];
    return { ...stored, state: 'open', evidence };
  });
}

/** Closes the card of a cause that is over, and says so. */
async function endCause(store: CrossProcessStore, key: string, record: AlertRecord, why: string): Promise<void> {
  const wallMs = store.clock.wallMs();
  const next = { ...record, overWallMs: wallMs, seenMs: store.clock.nowMs() };
  const over = `${overText}${formatWallTime(wallMs)}${why}`;
  await writeCard(store, key, record, next, (stored) => {
    if (stored.state !== 'open' || !stored.id.startsWith(alertCardPrefix)) return stored;
    return { ...stored, state: 'expired', evidence: [...stored.evidence, over] };
  });
}

function isTimeLine(line: string): boolean {
  return line.startsWith(overText) || line.startsWith(againText);
}

function formatWallTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function makeCard(key: string, cause: AlertCause, settings: AlertSettings, wallMs: number): Card {
  const rule = listAlertRules(settings).find(({ name }) => name === cause.rule)!;
  const counters = { alert: cause.rule, actual: Math.round(cause.value * 1000) / 1000, limit: cause.limit };
  return {
    ...{ id: `${alertCardPrefix}${shortHash(key)}-${Math.floor(wallMs / 1000).toString(36)}`, kind: 'notice' },
    ...{ task: cause.task ?? '', code: 'notice', counters, openedWallMs: wallMs },
    risk: rule.severity === 'critical' ? 'medium' : 'low',
    evidence: [...cause.evidence, `Runbook: ${rule.runbook}`],
    actions: ['dismiss'],
    state: 'open',
  };
}

/** Changes the stored card together with the record. A card that the store no longer has is not made anew. */
async function writeCard(
  store: CrossProcessStore,
  key: string,
  before: AlertRecord,
  next: AlertRecord,
  update: (card: Card) => Card,
): Promise<void> {
  const rows = await store.shared.read(`card/${before.card}`, 1);
  const stored = rows.find((row) => row.key === `card/${before.card}`)?.state as Card | null | undefined;
  const card = stored ? update(stored) : undefined;
  if (card === undefined || card === stored) await writeRecord(store, key, before, next);
  else await writeRecord(store, key, before, next, card, (current) => current && update(current));
}

async function writeRecord(
  store: CrossProcessStore,
  key: string,
  before: AlertRecord | undefined,
  next: AlertRecord,
  card?: Card,
  update?: (stored: Card | undefined) => Card | undefined,
): Promise<void> {
  const recordChange: Change<AlertRecord | null> = {
    cell: store.cell<AlertRecord | null>(key, () => null, { keepMs: alertKeepMs }),
    update: (stored) => (isSameRecord(stored ?? undefined, before) ? { state: next } : 'refuse'),
  };
  const entries = card && [{ body: { type: 'card-changed', card } as const, place: placeOf(card), atMs: next.seenMs }];
  const others = [requireLease(store), recordChange as Change];
  if (card === undefined || update === undefined)
    await store.shared.commit({ changes: others, ...(entries && { entries }) });
  else await applyChanges(store, { others, card: { id: card.id, update }, ...(entries && { entries }) });
  store.shared.evict?.(key);
}

function placeOf({ task }: Card) {
  return task === '' ? {} : { task };
}

function isSameRecord(stored: AlertRecord | undefined, before: AlertRecord | undefined): boolean {
  return stored?.card === before?.card && stored?.seenMs === before?.seenMs;
}
