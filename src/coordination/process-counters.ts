/**
 * Adds the counts of a process to the totals of its store. A total is only added to, so that many processes need not
 * read it first, and the sum over all of them grows with every commit and never twice.
 */

import { type CardAction, cardActions } from '../core/card.ts';
import { cellKey } from '../core/cell-key.ts';
import type { Entry } from '../core/event.ts';
import { storeBatchMax } from '../core/limits.ts';
import { namesPrefix, type ProcessCounters, type TakenCounts } from '../ports/process-counters.ts';
import {
  type BreakerCounts,
  type DecisionCounts,
  metricLabelOf,
  metricNamesMax,
  type SpendCounts,
  zeroBreaker,
  zeroDecisions,
  zeroSpend,
} from '../ports/process-counts.ts';
import type { Cell, Change, CounterAdd, Transaction, TransactionResult } from '../ports/store.ts';
import type { SharingOptions } from './index.ts';

/** Refusals and halts with one code. */
interface CodeCounts {
  refusals: number;
  halts: number;
}

/** What a process counts beside decisions: swallowed errors, and settings and rules that were not applied. */
interface EventCounts {
  errors: number;
  loosened: number;
  rejected: number;
}

const zeroCode = (): CodeCounts => ({ refusals: 0, halts: 0 });
const zeroEvents = (): EventCounts => ({ errors: 0, loosened: 0, rejected: 0 });
const zeroAnswers = () => Object.fromEntries(cardActions.map((action) => [action, 0])) as Record<CardAction, number>;

/** The groups of totals; the fields of a group are those of its record. */
const groups = {
  decision: zeroDecisions,
  breaker: zeroBreaker,
  spend: zeroSpend,
  code: zeroCode,
  answer: zeroAnswers,
  event: zeroEvents,
} as const;

/** A group of totals. */
export type CountGroup = keyof typeof groups;

/** A group whose labels are names from outside, which the store lists. */
export type NamedGroup = 'breaker' | 'code';

/** The counts of a group. */
export type CountsOf<G extends CountGroup> = ReturnType<(typeof groups)[G]>;

/** Names that a store lists: more than get a label, since processes that meet names at once do not see each other. */
const metricNamesKept = 256;

/** The label of all names beyond the bound. */
export const otherNames = 'other';

/** The label of groups that have one record only. */
export const onlyLabel = 'all';

/** The fields of a group. */
export function countFieldsOf<G extends CountGroup>(group: G): readonly (keyof CountsOf<G> & string)[] {
  return Object.keys(groups[group]()) as (keyof CountsOf<G> & string)[];
}

/** The key of a total. Fields that end with `Ms` are stored in microseconds, because a total is a whole number. */
export function totalKey(group: CountGroup, label: string, field: string): string {
  return cellKey('metric', group, label, field);
}

/** The cell with the names of a group, in the order in which processes met them. */
function namesCell(store: Pick<SharingOptions, 'cell'>, group: NamedGroup): Cell<readonly string[]> {
  return store.cell<readonly string[]>(namesPrefix + group, () => [], { join: joinNames });
}

function joinNames(local: readonly string[], stored: readonly string[]): readonly string[] {
  return [...new Set([...local, ...stored])].slice(0, metricNamesKept);
}

/** One record with what was already taken from it. */
interface Series {
  readonly group: CountGroup;
  readonly label: string;
  readonly counts: Record<string, number>;
  readonly taken: Record<string, number>;
}

/** Creates the counters of a process. */
export function createProcessCounters(store: SharingOptions): ProcessCounters {
  const all = new Map<string, Series>();
  /** The decisions of each layer at the last flush. */
  const decided = new Map<Series, number>();

  function seriesOf<G extends CountGroup>(group: G, label: string): CountsOf<G> {
    const key = `${group} ${label}`;
    let series = all.get(key);
    if (series === undefined) {
      const make = groups[group] as () => unknown as () => Record<string, number>;
      series = { group, label, counts: make(), taken: make() };
      all.set(key, series);
    }
    return series.counts as unknown as CountsOf<G>;
  }

  const named: Record<NamedGroup, Set<string>> = { breaker: new Set(), code: new Set() };

  /** The record of a name; the names of one process are bounded, too. */
  function namedSeries<G extends NamedGroup>(group: G, name: string): CountsOf<G> {
    const label = metricLabelOf(name);
    const known = named[group];
    if (known.size < metricNamesMax) known.add(label);
    return seriesOf(group, known.has(label) ? label : otherNames);
  }

  /** Counts the decisions since the last flush as made without the store, if the store does not answer now. */
  function countDegraded(): void {
    const isDegraded = store.health().state === 'degraded';
    for (const series of all.values()) {
      if (series.group !== 'decision') continue;
      const counts = series.counts as unknown as DecisionCounts;
      const { allow, deny, ask, wait, halt } = counts;
      const total = allow + deny + ask + wait + halt;
      if (isDegraded) counts.degraded += total - (decided.get(series) ?? 0);
      decided.set(series, total);
    }
  }

  function take(): TakenCounts | undefined {
    const adds: CounterAdd[] = [];
    const labels = createLabels(store);
    const undo: (() => void)[] = [];
    for (const { group, label, counts, taken } of all.values()) {
      if (adds.length >= storeBatchMax) break; // The next transaction takes the rest.
      for (const field in counts) {
        const scale = field.endsWith('Ms') ? 1000 : 1;
        const amount = Math.floor((counts[field]! - taken[field]!) * scale);
        if (!(amount > 0 && Number.isSafeInteger(amount))) continue;
        taken[field]! += amount / scale;
        undo.push(() => {
          taken[field]! -= amount / scale;
        });
        adds.push({ key: totalKey(group, labels.find(group, label), field), amount });
      }
    }
    if (adds.length === 0) return undefined;
    return { adds, changes: labels.changes(), giveBack: () => undo.forEach((each) => void each()) };
  }

  return {
    decisions: (layer) => seriesOf('decision', layer),
    breaker: (name): BreakerCounts => namedSeries('breaker', name),
    spend: (scope): SpendCounts => seriesOf('spend', scope),
    countAnswer(answer) {
      seriesOf('answer', onlyLabel)[answer]++;
    },
    countEntry(entry) {
      countEntry(entry, namedSeries, () => seriesOf('event', onlyLabel));
    },
    take,
    async flush() {
      countDegraded();
      // While the store is unavailable the counts wait here; queued transactions are for state.
      while (store.health().state === 'shared') {
        const taken = take();
        if (taken === undefined || !isAccepted(taken, await store.commit(makeTransaction(taken)))) return;
        // Counts that came meanwhile wait for the next flush: a busy process would write without end.
        if (taken.adds.length < storeBatchMax) return;
      }
    },
    flushNow() {
      countDegraded();
      for (;;) {
        const taken = take();
        if (taken === undefined || !isAccepted(taken, store.commitNow(makeTransaction(taken)))) return;
      }
    },
  };
}

/** An addition is queued while the store is away, so that a lost reply does not make it count twice. */
function makeTransaction({ adds, changes }: TakenCounts): Transaction {
  return { adds, changes, queueIfUnavailable: true };
}

/** Whether a transaction has its counts; otherwise they are counted again. */
function isAccepted({ giveBack }: TakenCounts, { status }: TransactionResult): boolean {
  if (status === 'committed' || status === 'queued') return true;
  giveBack();
  return false;
}

/** Finds the labels of named series, and collects the names that the store does not list yet. */
function createLabels(store: SharingOptions) {
  const cells = new Map<NamedGroup, { readonly cell: Cell<readonly string[]>; readonly fresh: string[] }>();
  return {
    find(group: CountGroup, label: string): string {
      if ((group !== 'breaker' && group !== 'code') || label === otherNames) return label;
      const known = cells.get(group) ?? { cell: namesCell(store, group), fresh: [] };
      cells.set(group, known);
      const { cell, fresh } = known;
      if (cell.state.includes(label) || fresh.includes(label)) return label;
      if (cell.state.length + fresh.length >= metricNamesMax) return otherNames;
      fresh.push(label);
      return label;
    },
    changes: (): readonly Change[] =>
      [...cells.values()]
        .filter(({ fresh }) => fresh.length > 0)
        .map(({ cell, fresh }) => makeNamesChange(cell, fresh)),
  };
}

/**
 * Adds names to the list of the store. Other processes may have filled the list meanwhile, so that the list keeps more
 * names than get a label of their own.
 */
function makeNamesChange(cell: Cell<readonly string[]>, fresh: readonly string[]): Change {
  const change: Change<readonly string[]> = {
    cell,
    update: (stored) => {
      const names = joinNames(stored, fresh);
      return names.length === stored.length ? 'keep' : { state: names };
    },
  };
  return change as Change;
}

function countEntry(
  entry: Entry,
  named: <G extends NamedGroup>(group: G, name: string) => CountsOf<G>,
  events: () => EventCounts,
): void {
  switch (entry.type) {
    case 'breaker-opened':
      named('breaker', entry.name).opened++;
      return;
    case 'breaker-half-opened':
      named('breaker', entry.name).halfOpened++;
      return;
    case 'breaker-closed':
    case 'breaker-reset':
      named('breaker', entry.name).closed++;
      return;
    case 'action-refused':
      if (entry.enforced && entry.decision.verdict.kind !== 'allow')
        named('code', entry.decision.verdict.code).refusals++;
      return;
    case 'task-halted':
      if (entry.enforced && entry.cause === undefined) named('code', entry.stop.code).halts++;
      return;
    case 'internal-error':
      events().errors++;
      return;
    case 'setting-loosened':
      events().loosened++;
      return;
    case 'setting-ignored':
    case 'rule-rejected':
      events().rejected++;
      return;
    default:
      return; // Other entries are not counted.
  }
}
