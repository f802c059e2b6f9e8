/** `/metrics` in the text format of Prometheus: values of the store, bounded and escaped labels. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { metricNamesMax } from '../../../src/ports/process-counts.ts';
import { runPromtool, testWithPromtool } from '../../promtool.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';
import { serve } from '../server-setup.ts';

const { kinds, newPlace } = bothStores();

const line =
  /^(?:# (?:HELP|TYPE) switchgear_\w+ .+|switchgear_\w+(?:\{(?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+\})? -?[\d.e+-]+)$/;

for (const [name, open] of Object.entries(kinds)) {
  testOn(name)(`${name}: breakers, inbox, tasks, budgets and the store are counted`, async () => {
    const store = await open(newPlace());
    const server = await serve(store);
    const budgets = [{ scope: 'global', unit: 'calls', limit: 10 }] as const;
    const gear = createSwitchgear({
      store,
      policy: { budgets, circuit_breaker: { failure_threshold: 2 } },
      log: 'silent',
      env: {},
    });
    const task = gear.startTask({ id: 't' });
    for (let at = 0; at < 3; at++)
      await task
        .run(() => gear.run('search', () => Promise.reject(new Error('down'))))
        .then(undefined, () => undefined);
    const card: Card = {
      ...{ id: 'ask-1', kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: [] },
      ...{ actions: ['approve'], state: 'open' },
    };
    store.putCard(card);
    store.append({ type: 'card-changed', card }, {}, store.clock.nowMs());
    await store.shared.settled();
    const { text, headers } = await server.send('GET', '/metrics');
    assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    for (const each of text.trimEnd().split('\n')) assert.match(each, line);
    for (const sample of [
      'store_up 1',
      'breaker_state{breaker="search",state="open"} 1',
      'breaker_state{breaker="search",state="closed"} 0',
      'breaker_trip_count{breaker="search"} 1',
      'breaker_trips_per_hour{breaker="search"} 1',
      'inbox_pending{kind="ask"} 1',
      'tasks{state="halted"} 0',
    ])
      assert.ok(text.includes(`\nswitchgear_${sample}\n`), `${sample}\n${text}`);
    assert.match(text, /switchgear_time_in_open_state\{breaker="search"\} \d/);
    assert.match(text, /switchgear_inbox_oldest_seconds\{kind="ask"\} \d/);
    assert.match(text, /switchgear_budget_used\{scope="global",unit="calls",window_secs="ever"\} [1-9]/);
    assert.match(text, /switchgear_budget_used_ratio\{scope="global",unit="calls",window_secs="ever"\} 0\.[1-9]/);
    assert.equal((await server.send('GET', '/metrics', undefined, { authorization: '' })).status, 401);
    gear.dispose();
    await server.close();
    store.close();
  });
}

const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "javascript:alert('x')",
  '\u001b[2J\u001b]0;title\u0007',
  '\u009b31mred\u009d',
  'a"b\\c\nd',
  '\u202egnp.exe',
  '\u2028\u2029line',
  '</script><!--',
  '\r\nset-cookie: a=b\r\n\r\n',
  '# HELP switchgear_store_up 0\nswitchgear_store_up 0',
  '\u200b\ufeffzero',
];

test('hostile names and texts are inert in JSON, in the stream and in the metrics', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const gear = createSwitchgear({
    store,
    agent: hostile[0]!,
    policy: { circuit_breaker: { failure_threshold: 1 } },
    log: 'silent',
    env: {},
  });
  for (const [at, text] of hostile.entries()) {
    const task = gear.startTask({ id: `${at}${text}` });
    const fail = () => Promise.reject(new Error(text));
    await task.run(() => gear.run(text, fail)).then(undefined, () => undefined);
    const card: Card = {
      ...{ id: `card-${at}${text}`, kind: 'notice', task: text, code: 'notice', counters: {}, evidence: [text] },
      ...{ actions: ['dismiss'], state: 'open' },
    };
    store.putCard(card);
    store.append({ type: 'card-changed', card }, {}, store.clock.nowMs());
  }
  await store.shared.settled();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
  const active = /[<>&\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
  for (const path of ['/api/status', '/api/cards', '/api/breakers', '/api/tasks', '/api/store']) {
    const { text, json, headers } = await server.send('GET', path);
    assert.doesNotMatch(text, active, path);
    assert.equal(headers['set-cookie'], undefined);
    assert.ok(json !== undefined);
  }
  const { cards } = (await server.send('GET', '/api/cards?kind=notice&limit=100')).json;
  for (const text of hostile)
    assert.ok(
      cards.some(({ evidence }: Card) => evidence[0] === text),
      'the text itself arrives',
    );
  const long = encodeURIComponent(`card-1${hostile[1]}`);
  assert.equal((await server.send('POST', `/api/cards/${long}/answer`, { answer: 'dismiss' })).status, 200);
  const { text: metrics } = await server.send('GET', '/metrics');
  for (const each of metrics.trimEnd().split('\n')) assert.match(each, line);
  assert.ok(metrics.includes('switchgear_store_up 1\n') && !/^switchgear_store_up 0/m.test(metrics));
  gear.dispose();
  await server.close();
  store.close();
});

test('the number of label values is bounded', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const gear = createSwitchgear({
    store,
    policy: { circuit_breaker: { failure_threshold: 1 } },
    log: 'silent',
    env: {},
  });
  for (let at = 0; at < metricNamesMax + 30; at++)
    await gear.run(`tool-${at}`, () => Promise.reject(new Error('down'))).then(undefined, () => undefined);
  await store.shared.settled();
  const { text } = await server.send('GET', '/metrics');
  const names = new Set([...text.matchAll(/breaker="([^"]+)"/g)].map(([, each]) => each));
  assert.equal(names.size, metricNamesMax + 1);
  assert.match(text, /switchgear_breaker_state\{breaker="other",state="open"\} 30\n/);
  gear.dispose();
  await server.close();
  store.close();
});

testWithPromtool('?compat=resilience4j adds the published names, and promtool accepts both outputs', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const gear = createSwitchgear({ store, log: 'silent', env: {} });
  await gear.run('search', async () => 'found');
  await gear.run('search', () => Promise.reject(new Error('down'))).catch(() => undefined);
  await store.shared.settled();
  await store.shared.counters!.flush();
  const plain = (await server.send('GET', '/metrics')).text;
  const { text } = await server.send('GET', '/metrics?compat=resilience4j');
  const prefix = 'resilience4j_circuitbreaker';
  assert.ok(!plain.includes(prefix));
  for (const state of ['closed', 'disabled', 'forced_open', 'half_open', 'metrics_only', 'open'])
    assert.ok(
      text.includes(`\n${prefix}_state{name="search",state="${state}"} ${state === 'closed' ? 1 : 0}\n`),
      state,
    );
  for (const kind of ['successful', 'failed', 'ignored'])
    for (const part of ['count', 'sum'])
      assert.match(text, new RegExp(`${prefix}_calls_seconds_${part}\\{kind="${kind}"`));
  for (const name of ['not_permitted_calls_total', 'buffered_calls', 'failure_rate', 'slow_call_rate'])
    assert.match(text, new RegExp(`^${prefix}_${name}\\{.*name="search"`, 'm'));
  for (const each of [plain, text]) {
    const { code, words } = runPromtool(['check', 'metrics'], each);
    assert.ok(code === 0 || code === 3, words); // 3: only the style of foreign names.
  }
  gear.dispose();
  await server.close();
  store.close();
});
