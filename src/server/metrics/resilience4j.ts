/** The metrics of breakers under the names and labels of resilience4j, for dashboards that were made for it. */

import type { StoredCounts } from '../../operator/counters.ts';
import type { Metric, Sample } from './format.ts';
import { countInState, highestRate, type LabelledBreakers } from './store-metrics.ts';

const states = ['closed', 'disabled', 'forced_open', 'half_open', 'metrics_only', 'open'] as const;

/** Makes the metrics. Of several breakers of one name the strictest state is shown, and the highest failure rate. */
export function makeResilience4jMetrics(groups: LabelledBreakers, counts: StoredCounts | undefined): readonly Metric[] {
  const gauge = (name: string, help: string, samples: readonly Sample[]): Metric => ({
    ...{ name: `resilience4j_circuitbreaker_${name}`, type: 'gauge', help, samples },
  });
  const breakers = [...(counts?.breaker ?? [])];
  const rate = groups.map(([name, group]) => {
    return { labels: { name }, value: (highestRate(group) ?? noRate) * (highestRate(group) === undefined ? 1 : 100) };
  });
  return [
    gauge(
      'state',
      'The states of the circuit breaker',
      groups.flatMap(([name, group]) => {
        const current = stateOf(group);
        return states.map((state) => ({ labels: { name, state }, value: state === current ? 1 : 0 }));
      }),
    ),
    gauge('failure_rate', 'The failure rate of the circuit breaker', rate),
    gauge(
      'slow_call_rate',
      'The slow call rate of the circuit breaker',
      groups.map(([name]) => ({ labels: { name }, value: noRate })),
    ),
    gauge(
      'buffered_calls',
      'The number of buffered calls stored in the ring buffer',
      groups.flatMap(([name, group]) => {
        const failed = group.reduce((total, { windowFailures = 0 }) => total + windowFailures, 0);
        const all = group.reduce((total, { windowCalls = 0 }) => total + windowCalls, 0);
        return [
          { labels: { kind: 'failed', name }, value: failed },
          { labels: { kind: 'successful', name }, value: all - failed },
        ];
      }),
    ),
    {
      name: 'resilience4j_circuitbreaker_calls_seconds',
      type: 'summary',
      help: 'Total number of successful calls',
      samples: breakers.flatMap(([name, each]) => [
        ...callSamples(name, 'successful', each.successes, each.successMs),
        ...callSamples(name, 'failed', each.failures, each.failureMs),
        ...callSamples(name, 'ignored', each.neutrals, each.neutralMs),
      ]),
    },
    {
      name: 'resilience4j_circuitbreaker_not_permitted_calls_total',
      type: 'counter',
      help: 'Total number of not permitted calls',
      samples: breakers.map(([name, { refusals }]) => ({ labels: { kind: 'not_permitted', name }, value: refusals })),
    },
  ];
}

/** The value of a rate below the minimum of calls. */
const noRate = -1;

function stateOf(group: LabelledBreakers[number][1]): (typeof states)[number] {
  if (countInState(group, 'held') > 0) return 'forced_open';
  if (countInState(group, 'open') > 0) return 'open';
  return countInState(group, 'half_open') > 0 ? 'half_open' : 'closed';
}

function callSamples(name: string, kind: string, count: number, ms: number): readonly Sample[] {
  const labels = { kind, name };
  return [
    { labels, value: count, suffix: '_count' },
    { labels, value: ms / 1000, suffix: '_sum' },
  ];
}
