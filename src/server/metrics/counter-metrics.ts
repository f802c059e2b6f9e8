/** Metrics of what processes counted: decisions, calls, trips, spending, answers. */

import type { StoredCounts } from '../../operator/counters.ts';
import { type Metric, makeMetric, type Sample } from './format.ts';

/** A value for each label of a group, or several with a second label. */
type Values<C> = (counts: C) => Readonly<Record<string, number>>;

/** The metrics of all totals. */
export function makeCounterMetrics(counts: StoredCounts): readonly Metric[] {
  const { decision, breaker, spend, code, answer, event } = counts;
  const [events] = event.values();
  const [answers] = answer.values();
  return [
    makeMetric(
      'breaker_calls_total',
      split(breaker, 'breaker', 'outcome', ({ successes: success, failures: failure, neutrals: neutral }) => ({
        ...{ success, failure, neutral },
      })),
    ),
    makeMetric(
      'breaker_call_seconds_total',
      split(breaker, 'breaker', 'outcome', ({ successMs, failureMs, neutralMs }) => ({
        ...{ success: successMs / 1000, failure: failureMs / 1000, neutral: neutralMs / 1000 },
      })),
    ),
    makeMetric(
      'breaker_refusals_total',
      single(breaker, 'breaker', ({ refusals }) => refusals),
    ),
    makeMetric(
      'breaker_trips_total',
      single(breaker, 'breaker', ({ opened }) => opened),
    ),
    makeMetric(
      'breaker_transitions_total',
      split(breaker, 'breaker', 'to', ({ opened: open, halfOpened, closed }) => ({
        ...{ open, half_open: halfOpened, closed },
      })),
    ),
    makeMetric(
      'decisions_total',
      split(decision, 'layer', 'outcome', ({ degraded: _, ...outcomes }) => outcomes),
    ),
    makeMetric(
      'degraded_decisions_total',
      single(decision, 'layer', ({ degraded }) => degraded),
    ),
    makeMetric(
      'refusals_total',
      single(code, 'code', ({ refusals }) => refusals),
    ),
    makeMetric(
      'halts_total',
      single(code, 'code', ({ halts }) => halts),
    ),
    makeMetric(
      'spend_dollars_total',
      single(spend, 'scope', ({ micros }) => micros / 1_000_000),
    ),
    makeMetric(
      'tokens_total',
      single(spend, 'scope', ({ tokens }) => tokens),
    ),
    makeMetric(
      'inbox_decisions_total',
      Object.entries(answers ?? {}).map(([decision, value]) => ({ labels: { decision }, value })),
    ),
    makeMetric('internal_errors_total', [{ labels: {}, value: events?.errors ?? 0 }]),
    makeMetric('settings_loosened_total', [{ labels: {}, value: events?.loosened ?? 0 }]),
    makeMetric('settings_rejected_total', [{ labels: {}, value: events?.rejected ?? 0 }]),
  ];
}

function single<C>(group: ReadonlyMap<string, C>, label: string, value: (counts: C) => number): readonly Sample[] {
  return [...group].map(([name, counts]) => ({ labels: { [label]: name }, value: value(counts) }));
}

function split<C>(group: ReadonlyMap<string, C>, label: string, second: string, values: Values<C>): readonly Sample[] {
  return [...group].flatMap(([name, counts]) =>
    Object.entries(values(counts)).map(([kind, value]) => ({ labels: { [label]: name, [second]: kind }, value })),
  );
}
