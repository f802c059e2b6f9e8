/** The files for Prometheus and Grafana: checked by promtool, and every query names a metric and labels that exist. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { createSwitchgear } from '../../src/index.ts';
import { type MetricDeclaration, serverMetrics } from '../../src/server/metrics/metric-table.ts';
import { readText } from '../harness/source.ts';
import { runPromtool, testWithPromtool } from '../promtool.ts';
import { openFileStore, serve } from '../server/server-setup.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const rulesFile = 'monitoring/prometheus-rules.yml';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const rules = (parse(readText(rulesFile)) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(readText('monitoring/grafana-dashboard.json'));

testWithPromtool('promtool takes the rules, and each alert fires on its series alone', () => {
  const check = runPromtool(['check', 'rules', join(root, rulesFile)]);
  assert.equal(check.code, 0, check.words);
  const fired = runPromtool(['test', 'rules', join(root, 'test/fixtures/monitoring/rules.test.yaml')]);
  assert.equal(fired.code, 0, fired.words);
});

test('each alert has a severity, a runbook that exists, and a test', () => {
  const stories = readText('test/fixtures/monitoring/rules.test.yaml');
  for (const { alert, labels, annotations, for: hold } of rules) {
    assert.match(labels.severity, /^(info|warning|page)$/, alert);
    assert.ok(hold !== undefined && annotations.summary !== '', alert);
    const [, page = ''] = /\/blob\/main\/(docs\/runbooks\/[\w-]+\.md)$/.exec(annotations.runbook_url) ?? [];
    assert.ok(existsSync(join(root, page)), `${alert}: ${annotations.runbook_url}`);
    const isFired = new RegExp(`alertname: ${alert}\\n +exp_alerts:\\n +- exp_labels`).test(stories);
    assert.ok(isFired, `${alert} fires in no story`);
  }
});

/** The metrics of a query with the labels of their selectors, and the labels after `by` and `on`. */
function readQuery(query: string) {
  const grouped = [...query.matchAll(/\b(?:by|on) \(([\w, ]+)\)/g)].flatMap(([, names]) => names!.split(', '));
  const used = [...query.matchAll(/\b(switchgear_\w+)(?:\{([^}]*)\})?/g)].map(([, name, selectors = '']) => {
    return { name: name!, labels: [...selectors.matchAll(/(\w+)(?==~|!=|=|!~)/g)].map(([, label]) => label!) };
  });
  return { used, grouped };
}

const queries = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap((panel: { title: string; targets?: { expr: string; legendFormat: string }[] }) =>
    (panel.targets ?? []).map(({ expr }) => [panel.title, expr] as const),
  ),
  ...dashboard.templating.list.flatMap(({ name, query }: { name: string; query: { query?: string } }) =>
    query.query === undefined ? [] : [[name, query.query.replace(/^label_values\((\w+), (\w+)\)$/, '$1{$2=""}')]],
  ),
] as readonly (readonly [string, string])[];

test('every query names metrics and labels of the table', () => {
  assert.ok(queries.length > 35);
  const table: Readonly<Record<string, MetricDeclaration>> = serverMetrics;
  for (const [where, query] of queries) {
    const { used, grouped } = readQuery(query);
    assert.ok(used.length > 0, `${where}: ${query}`);
    for (const { name, labels } of used) {
      const declared = table[name.slice('switchgear_'.length)];
      assert.ok(declared !== undefined, `${where}: ${name}`);
      for (const label of labels) assert.ok(declared.labels.includes(label), `${where}: ${name} has no ${label}`);
    }
    const known = used.flatMap(({ name }) => table[name.slice('switchgear_'.length)]!.labels);
    for (const label of grouped) assert.ok(known.includes(label), `${where}: no metric has ${label}`);
  }
  assert.deepEqual(readQuery('max by (a) (rate(switchgear_x{b=~"c",d!="e"}[5m]))'), {
    used: [{ name: 'switchgear_x', labels: ['b', 'd'] }],
    grouped: ['a'],
  });
});

test('a server exports every metric of the table with its type and labels, and no other', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const budgets = [{ scope: 'global', unit: 'calls', limit: 10 }] as const;
  const gear = createSwitchgear({ store, policy: { budgets }, log: 'silent', env: {} });
  for (let at = 0; at < 12; at++)
    await gear
      .run('search', () => (at < 7 ? Promise.resolve(1) : Promise.reject(new Error('down'))))
      .then(undefined, () => undefined);
  await store.shared.counters!.flush();
  const { text } = await server.send('GET', '/metrics');
  const types = Object.fromEntries(
    [...text.matchAll(/^# TYPE switchgear_(\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]),
  );
  assert.deepEqual(types, Object.fromEntries(Object.entries(serverMetrics).map(([name, { type }]) => [name, type])));
  for (const [name, { labels }] of Object.entries(serverMetrics)) {
    const [, written = ''] = new RegExp(`^switchgear_${name}(?:\\{(.*)\\})? `, 'm').exec(text) ?? [];
    if (!text.includes(`\nswitchgear_${name}`)) continue; // A rate needs calls that the window has.
    assert.deepEqual(
      [...written.matchAll(/(\w+)="/g)].map(([, label]) => label),
      labels,
      name,
    );
  }
  gear.dispose();
  await server.close();
  store.close();
});

test('the dashboard has a stable id, its two variables and its five rows', () => {
  assert.equal(dashboard.uid, 'switchgear');
  assert.deepEqual(
    dashboard.templating.list.map(({ name }: { name: string }) => name),
    ['datasource', 'breaker'],
  );
  const titles = dashboard.panels.flatMap(({ type, title }: { type: string; title: string }) =>
    type === 'row' ? title : [],
  );
  assert.deepEqual(titles, ['Overview', 'Breakers', 'Budgets', 'Inbox', 'Store']);
  const ids = dashboard.panels.map(({ id }: { id: number }) => id);
  assert.equal(new Set(ids).size, ids.length);
});
