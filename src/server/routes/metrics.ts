/** The metrics of a store in the text format of Prometheus. Only what the store has; ids are never labels. */

import { cleanLine } from '../../core/foreign-text.ts';
import type { StoredBreaker } from '../../operator/breakers.ts';
import type { StoredBudget } from '../../operator/budgets.ts';
import { isOpen, readCards } from '../../operator/cards.ts';
import { readStatus } from '../../operator/status.ts';
import type { OperatorTask } from '../../operator/tasks.ts';
import { labelValuesMax } from '../http/limits.ts';
import type { ServerContext } from '../http/route.ts';

/** One series: its labels and its value. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A metric with its series. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Formats all metrics; a store that does not answer has one only. */
export async function formatMetrics(context: ServerContext): Promise<string> {
  const isUp = context.store.shared.health.state === 'shared';
  const up: Metric = { name: 'store_up', help: 'Whether the store answers.', samples: [[{}, isUp ? 1 : 0]] };
  try {
    return [up, ...(await readMetrics(context))].map(formatMetric).join('');
  } catch {
    return formatMetric({ ...up, samples: [[{}, 0]] });
  }
}

async function readMetrics(context: ServerContext): Promise<readonly Metric[]> {
  const { breakers, tasks, budgets } = await readStatus(context.store, context.storeName);
  return [
    ...breakerMetricsOf(breakers),
    ...(await inboxMetrics(context)),
    taskMetric(tasks),
    ...budgetMetrics(budgets),
  ];
}

function breakerMetricsOf(breakers: readonly StoredBreaker[]): readonly Metric[] {
  const groups = groupByLabel(breakers, ({ name }) => name);
  const series = (value: (group: readonly StoredBreaker[]) => number): readonly Sample[] =>
    groups.map(([breaker, group]) => [{ breaker }, value(group)]);
  const sum = (group: readonly StoredBreaker[], value: (each: StoredBreaker) => number) =>
    group.reduce((total, each) => total + value(each), 0);
  const states = ['closed', 'open', 'half_open', 'held'] as const;
  return [
    {
      name: 'breaker_state',
      help: 'Breakers of this name in this state; a held breaker is open, too.',
      samples: groups.flatMap(([breaker, group]) =>
        states.map((state): Sample => [{ breaker, state }, group.filter((each) => isInState(each, state)).length]),
      ),
    },
    {
      name: 'breaker_trip_count',
      help: 'Trips since the breakers of this name were created or last reset.',
      samples: series((group) => sum(group, ({ trips }) => trips)),
    },
    {
      name: 'breaker_trips_per_hour',
      help: 'Trips of the breakers of this name in the last hour.',
      samples: series((group) => sum(group, ({ tripsPerHour }) => tripsPerHour)),
    },
    {
      name: 'failure_rate',
      help: 'Highest share of failed calls in the window, from 0 to 1, of the breakers of this name.',
      samples: groups.flatMap(([breaker, group]): readonly Sample[] => {
        const rates = group.flatMap(({ failureRate }) => failureRate ?? []);
        return rates.length === 0 ? [] : [[{ breaker }, Math.max(...rates)]];
      }),
    },
    {
      name: 'time_in_open_state',
      help: 'Longest time in open, in seconds, since the breakers of this name were last closed.',
      samples: series((group) => Math.max(...group.map(({ openMs }) => openMs)) / 1000),
    },
  ];
}

function isInState({ state, held }: StoredBreaker, wanted: string): boolean {
  return wanted === 'held' ? held : state.toLowerCase() === wanted;
}

async function inboxMetrics({ store, readCardTimes }: ServerContext): Promise<readonly Metric[]> {
  const atMs = store.clock.nowMs();
  const open = (await readCards(store)).filter((card) => isOpen(card, atMs));
  const times = await readCardTimes();
  const nowMs = store.clock.wallMs();
  const ages = open.flatMap(({ id }) => times.get(id)?.openedWallMs ?? []).map((openedMs) => nowMs - openedMs);
  const kinds = ['ask', 'halt', 'notice'] as const;
  const oldest = Math.max(0, ...ages) / 1000;
  return [
    {
      name: 'inbox_pending',
      help: 'Open cards.',
      samples: kinds.map((kind) => [{ kind }, open.filter((card) => card.kind === kind).length]),
    },
    {
      name: 'inbox_oldest_seconds',
      help: 'Age of the oldest open card, as the journal has it.',
      samples: [[{}, oldest]],
    },
  ];
}

function taskMetric(tasks: readonly OperatorTask[]): Metric {
  const states = ['running', 'paused', 'halted', 'lost'] as const;
  const samples = states.map((state): Sample => [{ state }, tasks.filter((task) => task.state === state).length]);
  return { name: 'tasks', help: 'Tasks of all processes.', samples };
}

function budgetMetrics(budgets: readonly StoredBudget[]): readonly Metric[] {
  const kinds = Map.groupBy(budgets, ({ scope, unit, windowSecs = 0 }) => JSON.stringify([scope, unit, windowSecs]));
  const groups = [...kinds.values()].map((group) => {
    const { scope, unit, windowSecs } = group[0]!;
    return [{ scope, unit, window_secs: windowSecs === undefined ? 'ever' : String(windowSecs) }, group] as const;
  });
  const ratio = ({ used, limit }: StoredBudget) => (limit === undefined || limit === 0 ? 0 : used / limit);
  return [
    {
      name: 'budget_used',
      help: 'Used amount of the budgets of this kind, in their unit.',
      samples: groups.map(([labels, group]) => [labels, group.reduce((total, { used }) => total + used, 0)]),
    },
    {
      name: 'budget_used_ratio',
      help: 'Highest used share of the budgets of this kind.',
      samples: groups.map(([labels, group]) => [labels, Math.max(...group.map(ratio))]),
    },
  ];
}

/** Groups items by a label value; after the first values the rest is one group. */
function groupByLabel<T>(items: readonly T[], labelOf: (item: T) => string) {
  const groups = Map.groupBy(items, (item) => cleanLine(labelOf(item)).slice(0, 200));
  const names = [...groups.keys()].toSorted();
  const shown = names.slice(0, labelValuesMax).map((name) => [name, groups.get(name)!] as const);
  const rest = names.slice(labelValuesMax).flatMap((name) => groups.get(name)!);
  return rest.length === 0 ? shown : [...shown, ['other', rest] as const];
}

function formatMetric({ name, help, samples }: Metric): string {
  const full = `switchgear_${name}`;
  const lines = samples.map(([labels, value]) => `${full}${formatLabels(labels)} ${formatNumber(value)}`);
  return [`# HELP ${full} ${help}`, `# TYPE ${full} gauge`, ...lines, ''].join('\n');
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
