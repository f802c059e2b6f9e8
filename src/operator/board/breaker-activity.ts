/** What the journal tells about breakers: failures and refusals by time, the last error, who opened or holds them. */

import type { Entry } from '../../core/event.ts';
import { describeFailedCall, describeOpening } from '../../core/messages/entry-words.ts';
import type { Stop } from '../../core/verdict.ts';
import { sanitizeText } from '../format.ts';
import { describeEntry } from '../format-entry.ts';
import type {
  ActiveBreaker,
  BreakerActivity,
  BreakerEntryRow,
  BreakerOrder,
  LastFailure,
  StoredBreaker,
} from './answers.ts';

/** Steps of a series and their length: the last 10 minutes. */
const seriesSteps = 30;
const seriesStepMs = 20_000;

interface Draft {
  failures: number[];
  refusals: number[];
  hasSeries: boolean;
  lastFailure?: LastFailure;
  trippedWallMs?: number;
}

/** Adds what the journal tells to breakers. */
export function withActivity(
  breakers: readonly StoredBreaker[],
  entries: readonly Entry[],
  atMs: number,
): readonly ActiveBreaker[] {
  const drafts = new Map<string, Draft>();
  const orders = new Map<string, BreakerOrder>();
  for (const entry of entries) {
    if (entry.type === 'order-given') learnOrder(orders, entry);
    else if (entry.breaker !== undefined) learnEntry(drafts, entry.breaker, entry, atMs);
  }
  return breakers.map((breaker) => {
    const draft = drafts.get(breaker.key);
    const lastOrder = laterOrder(orders.get(breaker.name), orders.get(everyTarget));
    const why = breaker.state === 'CLOSED' ? undefined : describeReason(breaker);
    return { ...breaker, ...finishDraft(draft), ...(lastOrder && { lastOrder }), ...(why && { why }) };
  });
}

function describeReason(breaker: StoredBreaker): string {
  const { cause, inARow } = breaker;
  return breaker.held ? 'held open by hand' : describeOpening(cause, inARow || undefined);
}

/** The key of orders for all; no tool has an empty name. */
const everyTarget = '';

function learnOrder(orders: Map<string, BreakerOrder>, entry: Entry & { readonly type: 'order-given' }): void {
  const { order, target, by, reason, wallMs } = entry;
  if (!isBreakerOrder(order)) return;
  orders.set(target ?? everyTarget, { order, by, reason, wallMs });
}

function isBreakerOrder(order: string): order is BreakerOrder['order'] {
  return order === 'trip' || order === 'reset' || order === 'hold' || order === 'release';
}

function laterOrder(one: BreakerOrder | undefined, other: BreakerOrder | undefined): BreakerOrder | undefined {
  return other !== undefined && (one === undefined || other.wallMs > one.wallMs) ? other : one;
}

function learnEntry(drafts: Map<string, Draft>, key: string, entry: Entry, atMs: number): void {
  switch (entry.type) {
    case 'failure-counted': {
      const { wallMs, task, agent } = entry;
      const draft = draftOf(drafts, key);
      const place = { ...(task !== undefined && { task }), ...(agent !== undefined && { agent }) };
      draft.lastFailure = { error: describeFailedCall(entry), wallMs, ...place };
      countAt(draft, 'failures', entry.atMs, atMs);
      return;
    }
    case 'action-refused': {
      const isByBreaker = (entry.decision.verdict as Stop).code === 'circuit_open';
      if (isByBreaker) countAt(draftOf(drafts, key), 'refusals', entry.atMs, atMs);
      return;
    }
    case 'breaker-opened':
      draftOf(drafts, key).trippedWallMs = entry.wallMs;
      return;
  }
}

function draftOf(drafts: Map<string, Draft>, key: string): Draft {
  let draft = drafts.get(key);
  if (draft === undefined) {
    draft = { failures: [], refusals: [], hasSeries: false };
    drafts.set(key, draft);
  }
  return draft;
}

function countAt(draft: Draft, kind: 'failures' | 'refusals', entryMs: number, atMs: number): void {
  const step = seriesSteps - 1 - Math.floor((atMs - entryMs) / seriesStepMs);
  if (step < 0 || step >= seriesSteps) return;
  if (!draft.hasSeries) {
    draft.failures = new Array<number>(seriesSteps).fill(0);
    draft.refusals = new Array<number>(seriesSteps).fill(0);
    draft.hasSeries = true;
  }
  draft[kind][step]!++;
}

function finishDraft(draft: Draft | undefined): BreakerActivity {
  if (draft === undefined) return {};
  const { hasSeries, failures, refusals, lastFailure, trippedWallMs } = draft;
  return {
    ...(hasSeries && { series: { stepMs: seriesStepMs, failures, refusals } }),
    ...(lastFailure && { lastFailure }),
    ...(trippedWallMs !== undefined && { trippedWallMs }),
  };
}

const entryRowsMax = 100;

/** The last entries about the breakers of a tool, the newest first; calls that went well are left out. */
export function findBreakerEntries(entries: readonly Entry[], name: string): readonly BreakerEntryRow[] {
  const rows: BreakerEntryRow[] = [];
  for (let at = entries.length - 1; at >= 0 && rows.length < entryRowsMax; at--) {
    const entry = entries[at]!;
    if (!concernsBreaker(entry, name)) continue;
    const { seq, wallMs, type, task } = entry;
    const words = sanitizeText(describeEntry(entry) ?? '');
    rows.push({ seq, wallMs, type, words, ...(task !== undefined && { task }) });
  }
  return rows;
}

function concernsBreaker(entry: Entry, name: string): boolean {
  switch (entry.type) {
    case 'failure-counted':
    case 'breaker-opened':
    case 'breaker-half-opened':
    case 'breaker-closed':
    case 'breaker-reset':
    case 'breaker-held':
    case 'breaker-released':
    case 'breaker-shadowed':
    case 'health-checked':
      return entry.name === name;
    case 'action-refused':
      return entry.action.name === name && (entry.decision.verdict as Stop).code === 'circuit_open';
    case 'order-given':
      return (entry.target === name || entry.target === null) && isBreakerOrder(entry.order);
    default:
      return false;
  }
}
