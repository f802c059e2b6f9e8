/** Metrics of the present state of a store: breakers, inbox, tasks, budgets. */

import type { Card } from '../../core/card.ts';
import type { OperatorTask, StoredBreaker } from '../../operator/board/answers.ts';
import type { StoredBudget } from '../../operator/budgets.ts';
import { type Metric, makeMetric, type Sample } from './format.ts';

/** Breakers by the value of their label. */
export type LabelledBreakers = readonly (readonly [string, readonly StoredBreaker[]])[];

const breakerStates = ['closed', 'open', 'half_open', 'held'] as const;

/** The gauges of breakers. */
export function makeBreakerMetrics(groups: LabelledBreakers): readonly Metric[] {
  const series = (value: (group: readonly StoredBreaker[]) => number): readonly Sample[] =>
    groups.map(([breaker, group]) => ({ labels: { breaker }, value: value(group) }));
  const sum = (group: readonly StoredBreaker[], value: (each: StoredBreaker) => number) =>
    group.reduce((total, each) => total + value(each), 0);
  return [
    makeMetric(
      'breaker_state',
      groups.flatMap(([breaker, group]) =>
        breakerStates.map((state) => ({ labels: { breaker, state }, value: countInState(group, state) })),
      ),
    ),
    makeMetric(
      'breaker_trip_count',
      series((group) => sum(group, ({ trips }) => trips)),
    ),
    makeMetric(
      'breaker_trips_per_hour',
      series((group) => sum(group, ({ tripsPerHour }) => tripsPerHour)),
    ),
    makeMetric(
      'failure_rate',
      groups.flatMap(([breaker, group]): readonly Sample[] => {
        const value = highestRate(group);
        return value === undefined ? [] : [{ labels: { breaker }, value }];
      }),
    ),
    makeMetric(
      'time_in_open_state',
      series((group) => Math.max(...group.map(({ openMs }) => openMs)) / 1000),
    ),
  ];
}

/** The number of breakers in a state; a held breaker is open, too. */
export function countInState(group: readonly StoredBreaker[], wanted: (typeof breakerStates)[number]): number {
  return group.filter(({ state, held }) => (wanted === 'held' ? held : state.toLowerCase() === wanted)).length;
}

/** The highest failure rate; undefined if no breaker has seen enough calls. */
export function highestRate(group: readonly StoredBreaker[]): number | undefined {
  const rates = group.flatMap(({ failureRate }) => failureRate ?? []);
  return rates.length === 0 ? undefined : Math.max(...rates);
}

/** The gauges of open cards; `ageMs` is undefined for a card that the journal does not have. */
export function makeInboxMetrics(open: readonly Card[], ageMs: (card: Card) => number | undefined): readonly Metric[] {
  const kinds = (['ask', 'halt', 'notice'] as const).map((kind) => {
    return [kind, open.filter((card) => card.kind === kind)] as const;
  });
  const oldest = (cards: readonly Card[]) => Math.max(0, ...cards.map((card) => ageMs(card) ?? 0)) / 1000;
  return [
    makeMetric(
      'inbox_pending',
      kinds.map(([kind, cards]) => ({ labels: { kind }, value: cards.length })),
    ),
    makeMetric(
      'inbox_oldest_seconds',
      kinds.map(([kind, cards]) => ({ labels: { kind }, value: oldest(cards) })),
    ),
  ];
}

/** The gauge of tasks. */
export function makeTaskMetric(tasks: readonly OperatorTask[]): Metric {
  const states = ['running', 'paused', 'halted', 'lost'] as const;
  return makeMetric(
    'tasks',
    states.map((state) => ({ labels: { state }, value: tasks.filter((task) => task.state === state).length })),
  );
}

/** The gauges of budgets. */
export function makeBudgetMetrics(budgets: readonly StoredBudget[]): readonly Metric[] {
  const kinds = Map.groupBy(budgets, ({ scope, unit, windowSecs = 0 }) => JSON.stringify([scope, unit, windowSecs]));
  const groups = [...kinds.values()].map((group) => {
    const { scope, unit, windowSecs } = group[0]!;
    return [{ scope, unit, window_secs: windowSecs === undefined ? 'ever' : String(windowSecs) }, group] as const;
  });
  const ratio = ({ used, limit }: StoredBudget) => (limit === undefined || limit === 0 ? 0 : used / limit);
  return [
    makeMetric(
      'budget_used',
      groups.map(([labels, group]) => ({ labels, value: group.reduce((total, { used }) => total + used, 0) })),
    ),
    makeMetric(
      'budget_used_ratio',
      groups.map(([labels, group]) => ({ labels, value: Math.max(...group.map(ratio)) })),
    ),
  ];
}
