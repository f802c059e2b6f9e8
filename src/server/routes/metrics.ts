/** The metrics of a store in the text format of Prometheus. Only what the store has; ids are never labels. */

import { readStoredBreakers } from '../../operator/breakers.ts';
import { readStoredBudgets } from '../../operator/budgets.ts';
import { isOpen, readCards } from '../../operator/cards.ts';
import { readStoredCounts } from '../../operator/counters.ts';
import { readAllTasks } from '../../operator/status.ts';
import type { MetricCompat, ServerContext } from '../http/route.ts';
import { makeCounterMetrics } from '../metrics/counter-metrics.ts';
import { formatMetric, groupByLabel, type Metric, makeMetric } from '../metrics/format.ts';
import { makeResilience4jMetrics } from '../metrics/resilience4j.ts';
import { makeBreakerMetrics, makeBudgetMetrics, makeInboxMetrics, makeTaskMetric } from '../metrics/store-metrics.ts';

/** Formats all metrics; a store that does not answer has one only. */
export async function formatMetrics(
  context: ServerContext,
  compat: MetricCompat | undefined = context.metricCompat,
): Promise<string> {
  const isUp = context.store.shared.health.state === 'shared';
  const makeUp = (value: 0 | 1) => makeMetric('store_up', [{ labels: {}, value }]);
  try {
    return [makeUp(isUp ? 1 : 0), ...(await readMetrics(context, compat))].map(formatMetric).join('');
  } catch {
    return formatMetric(makeUp(0));
  }
}

async function readMetrics(context: ServerContext, compat: string | undefined): Promise<readonly Metric[]> {
  const { store, readCardTimes } = context;
  const counts = await readStoredCounts(store);
  const tasks = await readAllTasks(store); // First: it closes lost runs.
  const budgets = await readStoredBudgets(store);
  const groups = groupByLabel(await readStoredBreakers(store), ({ name }) => name, counts?.breaker.keys() ?? []);
  const cards = await readCards(store);
  const times = await readCardTimes();
  const { nowMs, wallMs } = store.clock;
  const ageMs = ({ id }: { readonly id: string }) => {
    const openedMs = times.get(id)?.openedWallMs;
    return openedMs === undefined ? undefined : wallMs() - openedMs;
  };
  return [
    ...makeBreakerMetrics(groups),
    ...(counts === undefined ? [] : makeCounterMetrics(counts)),
    ...makeInboxMetrics(
      cards.filter((card) => isOpen(card, nowMs())),
      ageMs,
    ),
    makeTaskMetric(tasks),
    ...makeBudgetMetrics(budgets),
    ...(compat === 'resilience4j' ? makeResilience4jMetrics(groups, counts) : []),
  ];
}
