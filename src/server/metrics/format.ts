/** Formats metrics in the text format of Prometheus. */

import { metricLabelOf, metricNamesMax } from '../../ports/process-counts.ts';
import { type MetricDeclaration, type ServerMetric, serverMetrics } from './metric-table.ts';

/** One series: its labels and its value; `suffix` is for the parts of a summary. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly suffix?: '_count' | '_sum';
}

/** A metric with its series. */
export interface Metric {
  readonly name: string;
  readonly type: MetricDeclaration['type'] | 'summary';
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Makes a metric of the table. */
export function makeMetric(name: ServerMetric, samples: readonly Sample[]): Metric {
  const { type, help } = serverMetrics[name];
  return { name: `switchgear_${name}`, type, help, samples };
}

/** Formats one metric with its head. */
export function formatMetric({ name, type, help, samples }: Metric): string {
  const lines = samples.map(
    ({ labels, value, suffix = '' }) => `${name}${suffix}${formatLabels(labels)} ${formatNumber(value)}`,
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function formatNumber(value: number): string {
  return Number.isFinite(value) ? String(value) : 'NaN';
}

/** Groups items by a label; names that have totals come first, and after 200 names the rest is the group `other`. */
export function groupByLabel<T>(items: readonly T[], labelOf: (item: T) => string, counted: Iterable<string>) {
  const groups = Map.groupBy(items, (item) => metricLabelOf(labelOf(item)));
  const own = new Set([...counted].filter((name) => name !== 'other').slice(0, metricNamesMax));
  for (const name of [...groups.keys()].toSorted()) if (own.size < metricNamesMax) own.add(name);
  const shown = [...groups.keys()].filter((name) => own.has(name)).toSorted();
  const rest = [...groups].flatMap(([name, group]) => (own.has(name) ? [] : group));
  const all = shown.map((name) => [name, groups.get(name)!] as const);
  return rest.length === 0 ? all : [...all, ['other', rest] as const];
}
