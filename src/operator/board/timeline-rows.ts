/** The timeline of a task as rows for a person: what happened, when, on which track, what it cost. */

import type { Action, Cost } from '../../core/action.ts';
import type { Entry } from '../../core/event.ts';
import { storedEntriesMax } from '../../core/limits.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { sanitizeText } from '../format.ts';
import { describeEntry } from '../format-entry.ts';
import { findLastSeq, readJournalEntries } from '../journal.ts';
import type { RowMark, TimelineRow, TimelineRows } from './answers.ts';
import type { TaskFamily } from './task-families.ts';

/** Which rows to read: the newest, those before an entry, or those after one. */
export interface RowsRequest {
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
  /** Only refusals, failures and halts. */
  readonly onlyTrouble?: boolean | undefined;
}

const pageSize = 1_000;

/** Reads rows of a family of tasks. */
export async function readTimelineRows(
  store: CrossProcessStore,
  family: TaskFamily,
  request: RowsRequest,
): Promise<TimelineRows> {
  return request.after === undefined ? readBackward(store, family, request) : readForward(store, family, request);
}

async function readForward({ shared }: CrossProcessStore, family: TaskFamily, request: RowsRequest) {
  const first = Math.max(request.after! + 1, family.firstSeq);
  const rows: TimelineRow[] = [];
  let last = first - 1;
  for (let count = 0; count < storedEntriesMax && rows.length < request.limit; ) {
    const page = await readJournalEntries(shared, last + 1, pageSize);
    if (page.length === 0) break;
    for (const entry of page) {
      last = entry.seq;
      rows.push(...selectRow(entry, family, request));
      if (rows.length >= request.limit) break;
    }
    count += page.length;
  }
  return { rows, first, last, hasEarlier: first > family.firstSeq };
}

async function readBackward({ shared }: CrossProcessStore, family: TaskFamily, request: RowsRequest) {
  const end = Math.min(request.before ?? Number.POSITIVE_INFINITY, (await findLastSeq(shared)) + 1);
  const begin = Math.max(family.firstSeq, (await shared.entries(1, 1))[0]?.seq ?? end);
  const pages: (readonly TimelineRow[])[] = [];
  let first = end;
  let count = 0;
  while (first > begin && count < request.limit) {
    const from = Math.max(begin, first - pageSize);
    const entries = (await readJournalEntries(shared, from, pageSize)).filter(({ seq }) => seq < first);
    const rows = entries.flatMap((entry) => selectRow(entry, family, request));
    pages.unshift(rows);
    count += rows.length;
    first = from;
  }
  const rows = pages.flat();
  const kept = rows.slice(-request.limit);
  if (kept.length < rows.length) first = kept[0]!.seq;
  return { rows: kept, first, last: end - 1, hasEarlier: first > begin };
}

function selectRow(entry: Entry, { ids }: TaskFamily, { onlyTrouble }: RowsRequest): readonly TimelineRow[] {
  if (entry.task === undefined || !ids.has(entry.task) || silentTypes.has(entry.type)) return [];
  const row = makeRow(entry);
  const isTrouble = row.mark !== undefined && row.mark !== 'notice';
  return onlyTrouble === true && !isTrouble ? [] : [row];
}

/** Signs of life that say nothing to a person. */
const silentTypes: ReadonlySet<string> = new Set([
  ...['sign-observed', 'permit-renewed', 'reservation-changed', 'user-observed'],
]);

function makeRow(entry: Entry): TimelineRow {
  const { seq, atMs, wallMs, type, task = '', agent = '' } = entry;
  const action = actionOf(entry);
  const cost = costOf(entry);
  const words = sanitizeText(describeEntry(entry) ?? '');
  const mark = markOf(entry);
  const name = nameOf(entry, action);
  const call = callOf(entry);
  return {
    ...{ seq, atMs, wallMs, type, task, agent, track: trackOf(entry, action), words },
    ...(name !== undefined && { name: sanitizeText(name) }),
    ...(mark && { mark }),
    ...(call && { call }),
    ...(cost !== undefined && { micros: cost.micros, tokens: cost.tokens }),
    ...(countsCall(entry, action) && { counts: true as const }),
    ...(entry.type === 'notice' && { gauge: entry.gauge }),
  };
}

function actionOf(entry: Entry): Action | undefined {
  if ('action' in entry) return entry.action;
  return 'permit' in entry ? entry.permit.action : undefined;
}

function costOf(entry: Entry): Cost | undefined {
  return 'cost' in entry ? entry.cost : undefined;
}

function nameOf(entry: Entry, action: Action | undefined): string | undefined {
  if (action !== undefined) return action.name;
  switch (entry.type) {
    case 'usage-observed':
    case 'price-unknown':
    case 'usage-estimated':
      return entry.model;
    case 'delegation-returned':
      return entry.worker;
    case 'call-observed':
    case 'result-observed':
    case 'failure-counted':
    case 'health-checked':
    case 'access-refused':
      return entry.name;
    case 'step-started':
    case 'step-ended':
      return entry.step;
    default:
      return undefined;
  }
}

function trackOf(entry: Entry, action: Action | undefined): TimelineRow['track'] {
  if (action !== undefined) return action.kind === 'model' ? 'model' : action.kind === 'delegation' ? 'child' : 'tool';
  switch (entry.type) {
    case 'usage-observed':
    case 'price-unknown':
    case 'usage-estimated':
    case 'text-observed':
      return 'model';
    case 'delegation-returned':
      return 'child';
    case 'call-observed':
    case 'result-observed':
    case 'failure-counted':
    case 'health-checked':
    case 'access-refused':
    case 'step-started':
    case 'step-ended':
      return 'tool';
    default:
      return 'task';
  }
}

function markOf(entry: Entry): RowMark | undefined {
  switch (entry.type) {
    case 'action-refused':
      return 'refused';
    case 'task-halted':
      return 'halted';
    case 'failure-counted':
    case 'internal-error':
      return 'failed';
    case 'action-settled':
      return entry.outcome.kind === 'failure' ? 'failed' : undefined;
    case 'task-ended':
      return entry.how === 'error' || entry.how === 'lost' ? 'failed' : undefined;
    case 'delegation-returned':
      return entry.failed ? 'failed' : undefined;
    case 'action-asked':
    case 'action-waited':
    case 'loop-suspected':
    case 'notice':
    case 'limit-raised':
    case 'price-unknown':
    case 'card-changed':
      return 'notice';
    default:
      return undefined;
  }
}

function callOf(entry: Entry): TimelineRow['call'] {
  if (entry.type === 'action-allowed') return { id: String(entry.action.id), phase: 'begin' };
  if (entry.type !== 'action-settled') return undefined;
  return { id: String(entry.permit.action.id), phase: 'end', durationMs: Math.round(entry.durationMs) };
}

/** As the budget counts: a refused call counts as proposed, a model call is none. */
function countsCall(entry: Entry, action: Action | undefined): boolean {
  if (entry.type === 'call-observed') return true;
  if (entry.type !== 'action-allowed' && entry.type !== 'action-refused') return false;
  return action?.kind !== 'model';
}
