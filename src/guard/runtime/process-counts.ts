/** Counts what a gear decides and spends into the counters of its store; without a shared store nobody reads it. */

import type { Cost } from '../../core/action.ts';
import { type MetricLayer, zeroDecisions } from '../../ports/process-counts.ts';
import type { Runtime } from './runtime.ts';

/** Makes a gear one of a layer: its decisions are counted there from now on. */
export function setMetricLayer(runtime: Runtime, layer: MetricLayer): void {
  runtime.layer = layer;
  runtime.counts = runtime.counters?.decisions(layer) ?? zeroDecisions();
}

/** Calls a function with the outcome and duration of each decision, until the returned function is called. */
export function timeDecisions(runtime: Runtime, onDecided: NonNullable<Runtime['onDecided']>): () => void {
  const before = runtime.onDecided;
  runtime.onDecided = (outcome, ms) => {
    before?.(outcome, ms);
    onDecided(outcome, ms);
  };
  return () => {
    runtime.onDecided = before;
  };
}

/** Counts the cost of an action once for its task, and once for each scope of a budget that it is spent from. */
export function countCost({ counters, settings, budgets }: Runtime, cost: Cost | undefined): void {
  if (counters === undefined || cost === undefined) return;
  const scopes = budgets === undefined ? [] : settings.budgets.map(({ scope }) => scope);
  for (const scope of new Set(['task', ...scopes] as const)) {
    const spent = counters.spend(scope);
    spent.micros += cost.micros;
    spent.tokens += cost.tokens;
  }
}
