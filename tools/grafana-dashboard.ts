/** The Grafana dashboard in `monitoring/`: rows and panels over the metrics. `npm run reference` writes it. */

import { type ServerMetric, serverMetrics } from '../src/server/metrics/metric-table.ts';

interface Panel {
  readonly title: string;
  readonly type: 'stat' | 'timeseries' | 'state-timeline' | 'gauge';
  /** Queries by their legend; `switchgear_…{…}` with the labels of the metric table. */
  readonly queries: Readonly<Record<string, string>>;
  readonly unit?: 'percentunit' | 's' | 'currencyUSD' | 'ops' | 'short';
  readonly describes: ServerMetric;
}

const byBreaker = 'breaker=~"$breaker"';
/** The growth of a counter of breakers per second. */
const rateOf = (metric: string) => `rate(switchgear_${metric}{${byBreaker}}[$__rate_interval])`;

const rows: Readonly<Record<string, readonly Panel[]>> = {
  Overview: [
    {
      title: 'Open breakers',
      type: 'stat',
      queries: { open: 'sum(max by (breaker) (switchgear_breaker_state{state="open"}))' },
      describes: 'breaker_state',
    },
    {
      title: 'Cards that wait',
      type: 'stat',
      queries: { '{{kind}}': 'max by (kind) (switchgear_inbox_pending{kind=~"ask|halt"})' },
      describes: 'inbox_pending',
    },
    {
      title: 'Tasks',
      type: 'stat',
      queries: { '{{state}}': 'max by (state) (switchgear_tasks)' },
      describes: 'tasks',
    },
    { title: 'Store', type: 'stat', queries: { up: 'min(switchgear_store_up)' }, describes: 'store_up' },
    {
      title: 'Decisions per second',
      type: 'timeseries',
      queries: {
        '{{layer}} {{outcome}}': 'max by (layer, outcome) (rate(switchgear_decisions_total[$__rate_interval]))',
      },
      unit: 'ops',
      describes: 'decisions_total',
    },
    {
      title: 'Refusals by code',
      type: 'timeseries',
      queries: { '{{code}}': 'max by (code) (increase(switchgear_refusals_total[$__rate_interval])) > 0' },
      describes: 'refusals_total',
    },
    {
      title: 'Halts by code',
      type: 'timeseries',
      queries: { '{{code}}': 'max by (code) (increase(switchgear_halts_total[$__rate_interval])) > 0' },
      describes: 'halts_total',
    },
  ],
  Breakers: [
    {
      title: 'State',
      type: 'state-timeline',
      queries: {
        '{{breaker}} {{state}}': `max by (breaker, state) (switchgear_breaker_state{${byBreaker},state!="closed"})`,
      },
      describes: 'breaker_state',
    },
    {
      title: 'Trips in the last hour',
      type: 'timeseries',
      queries: { '{{breaker}}': `max by (breaker) (switchgear_breaker_trips_per_hour{${byBreaker}})` },
      describes: 'breaker_trips_per_hour',
    },
    {
      title: 'Trips, all time',
      type: 'stat',
      queries: { '{{breaker}}': `max by (breaker) (switchgear_breaker_trips_total{${byBreaker}})` },
      describes: 'breaker_trips_total',
    },
    {
      title: 'Failure rate',
      type: 'timeseries',
      queries: { '{{breaker}}': `max by (breaker) (switchgear_failure_rate{${byBreaker}})` },
      unit: 'percentunit',
      describes: 'failure_rate',
    },
    {
      title: 'Time in open',
      type: 'timeseries',
      queries: { '{{breaker}}': `max by (breaker) (switchgear_time_in_open_state{${byBreaker}})` },
      unit: 's',
      describes: 'time_in_open_state',
    },
    {
      title: 'Calls per second',
      type: 'timeseries',
      queries: {
        '{{breaker}} {{outcome}}': `max by (breaker, outcome) (${rateOf('breaker_calls_total')})`,
        '{{breaker}} refused': `max by (breaker) (${rateOf('breaker_refusals_total')})`,
      },
      unit: 'ops',
      describes: 'breaker_calls_total',
    },
    {
      title: 'Mean duration of a call',
      type: 'timeseries',
      queries: {
        '{{breaker}} {{outcome}}':
          `max by (breaker, outcome) (${rateOf('breaker_call_seconds_total')}) / ` +
          `max by (breaker, outcome) (${rateOf('breaker_calls_total')})`,
      },
      unit: 's',
      describes: 'breaker_call_seconds_total',
    },
  ],
  Budgets: [
    {
      title: 'Used share',
      type: 'gauge',
      queries: { '{{scope}} {{unit}}': 'max by (scope, unit, window_secs) (switchgear_budget_used_ratio)' },
      unit: 'percentunit',
      describes: 'budget_used_ratio',
    },
    {
      title: 'Spending per hour',
      type: 'timeseries',
      queries: { spent: 'max(increase(switchgear_spend_dollars_total{scope="task"}[1h]))' },
      unit: 'currencyUSD',
      describes: 'spend_dollars_total',
    },
    {
      title: 'Tokens per second',
      type: 'timeseries',
      queries: { tokens: 'max(rate(switchgear_tokens_total{scope="task"}[$__rate_interval]))' },
      unit: 'ops',
      describes: 'tokens_total',
    },
  ],
  Inbox: [
    {
      title: 'Open cards',
      type: 'timeseries',
      queries: { '{{kind}}': 'max by (kind) (switchgear_inbox_pending)' },
      describes: 'inbox_pending',
    },
    {
      title: 'Oldest card',
      type: 'timeseries',
      queries: { '{{kind}}': 'max by (kind) (switchgear_inbox_oldest_seconds)' },
      unit: 's',
      describes: 'inbox_oldest_seconds',
    },
    {
      title: 'Answers',
      type: 'timeseries',
      queries: {
        '{{decision}}': 'max by (decision) (increase(switchgear_inbox_decisions_total[$__rate_interval])) > 0',
      },
      describes: 'inbox_decisions_total',
    },
  ],
  Store: [
    {
      title: 'Store answers',
      type: 'timeseries',
      queries: { '{{instance}}': 'switchgear_store_up' },
      describes: 'store_up',
    },
    {
      title: 'Decisions without the store',
      type: 'timeseries',
      queries: { '{{layer}}': 'max by (layer) (rate(switchgear_degraded_decisions_total[$__rate_interval]))' },
      unit: 'ops',
      describes: 'degraded_decisions_total',
    },
    {
      title: 'Internal errors and refused settings',
      type: 'timeseries',
      queries: {
        errors: 'max(increase(switchgear_internal_errors_total[$__rate_interval]))',
        loosened: 'max(increase(switchgear_settings_loosened_total[$__rate_interval]))',
        rejected: 'max(increase(switchgear_settings_rejected_total[$__rate_interval]))',
      },
      describes: 'internal_errors_total',
    },
  ],
};

const columns = 24;
const panelHeight = 7;

/** The dashboard as Grafana imports it. */
export function renderDashboard(): string {
  let id = 0;
  let y = 0;
  const panels: object[] = [];
  for (const [title, own] of Object.entries(rows)) {
    panels.push({
      id: ++id,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { h: 1, w: columns, x: 0, y: y++ },
      panels: [],
    });
    let x = 0;
    for (const panel of own) {
      const w = panel.type === 'stat' ? 6 : 8;
      if (x + w > columns) {
        x = 0;
        y += panelHeight;
      }
      panels.push(renderPanel(panel, ++id, { h: panelHeight, w, x, y }));
      x += w;
    }
    y += panelHeight;
  }
  const dashboard = {
    uid: 'switchgear',
    title: 'Switchgear',
    description: 'Breakers, budgets, inbox and store of switchgear serve.',
    tags: ['switchgear'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [dataSourceVariable, breakerVariable] },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

const dataSource = { type: 'prometheus', uid: '${datasource}' };

const dataSourceVariable = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };

const breakerVariable = {
  name: 'breaker',
  label: 'Breaker',
  type: 'query',
  datasource: dataSource,
  query: { query: 'label_values(switchgear_breaker_state, breaker)', refId: 'breaker' },
  refresh: 2,
  includeAll: true,
  allValue: '.*',
  multi: true,
  current: { text: 'All', value: '$__all' },
  sort: 1,
};

function renderPanel({ title, type, queries, unit = 'short', describes }: Panel, id: number, gridPos: object): object {
  return {
    id,
    title,
    type,
    description: serverMetrics[describes].help,
    datasource: dataSource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: {},
    targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: dataSource,
      expr,
      legendFormat,
    })),
  };
}
