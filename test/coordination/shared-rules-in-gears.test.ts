/** Frequency rules of gears that share a store: one window for all of them, exact, whoever comes first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, type PolicyInput, refusalOf } from '../../src/index.ts';
import '../../src/policy/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { testWithRedis } from '../redis-server.ts';
import { bothStores, testOn } from '../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

const threeADay = [{ target: 'tool:mail', condition: 'frequency>3/1d', action: 'throttle' }] as const;

/** A process that sends mail; `sent` counts what really went out. */
function side(store: SqliteStore, policy: PolicyInput = { rules: threeADay }, project = '/p', agent = 'A') {
  const gear = createSwitchgear({ store, project, agent, policy, log: 'silent', env: {} });
  let sent = 0;
  const mail = gear.guard('mail', async () => `sent ${++sent}`);
  const post = gear.guard('mail', () => `sent ${++sent}`, { async: false });
  return { store, gear, mail, post, sent: () => sent };
}

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: sequential calls of several processes together stay within the window`, async () => {
    const place = newPlace();
    const sides = [side(await make(place)), side(await make(place))];
    const results: unknown[] = [];
    for (let turn = 0; turn < 6; turn++) results.push(await sides[turn % 2]!.mail());
    assert.deepEqual(results.map(isRefused), [false, false, false, true, true, true]);
    const refusal = refusalOf(results[3]);
    assert.equal(refusal?.code, 'rule_throttled');
    assert.ok((refusal?.retryAtMs ?? 0) > sides[0]!.store.clock.nowMs() + 80_000_000, 'a day later');
    for (const { gear } of sides) gear.dispose();
  });

  test(`${name}: simultaneous calls of several processes together stay within the window`, async () => {
    const place = newPlace();
    const policy = { rules: [{ target: 'tool:mail', condition: 'frequency>20/1h', action: 'throttle' }] } as const;
    const sides = await Promise.all([1, 2, 3].map(async () => side(await make(place), policy)));
    const results = await Promise.all(sides.flatMap(({ mail }) => Array.from({ length: 15 }, () => mail())));
    const passed = results.filter((result) => !isRefused(result)).length;
    assert.equal(passed, 20);
    assert.equal(
      sides.reduce((sum, { sent }) => sum + sent(), 0),
      20,
    );
    for (const { gear } of sides) gear.dispose();
  });

  test(`${name}: a call that waits for the store writes no journal entry`, async () => {
    const only = side(await make(newPlace()));
    await only.mail();
    assert.deepEqual(
      only.gear.journal().filter(({ type }) => type === 'action-waited'),
      [],
    );
    only.gear.dispose();
  });

  test(`${name}: a call that a breaker refuses is not counted`, async () => {
    const place = newPlace();
    const [one, other] = [side(await make(place)), side(await make(place), undefined, '/p', 'B')];
    one.gear.breaker('mail').hold('not now');
    for (let call = 0; call < 5; call++) assert.ok(isRefused(await one.mail()));
    for (let call = 0; call < 3; call++) assert.ok(!isRefused(await other.mail()), `call ${call}`);
    for (const { gear } of [one, other]) gear.dispose();
  });

  test(`${name}: the same rule of another project has a window of its own`, async () => {
    const place = newPlace();
    const [one, other] = [side(await make(place)), side(await make(place), { rules: threeADay }, '/q')];
    for (let call = 0; call < 3; call++) await one.mail();
    assert.ok(isRefused(await one.mail()));
    assert.ok(!isRefused(await other.mail()));
    for (const { gear } of [one, other]) gear.dispose();
  });

  test(`${name}: with abort, the call over the limit ends its task`, async () => {
    const place = newPlace();
    const policy = { rules: [{ target: 'tool:mail', condition: 'frequency>1/1h', action: 'abort' }] } as const;
    const [one, other] = [side(await make(place), policy), side(await make(place), policy)];
    await one.mail();
    const result = await other.gear.task({}, () => other.mail());
    assert.equal(result.status === 'halted' && result.halt.code, 'rule_abort');
    for (const { gear } of [one, other]) gear.dispose();
  });

  test(`${name}: an approved call over the limit runs and is counted`, async () => {
    const place = newPlace();
    const rules = [{ target: 'tool:mail', condition: 'frequency>1/1h', action: 'confirm' }] as const;
    const [first, second] = [await make(place), await make(place)];
    let asked = 0;
    const approver = {
      name: 'ann',
      ask: async () => {
        asked++;
        return { approved: true, by: 'ann' };
      },
    };
    const one = side(first, { rules });
    const gear = createSwitchgear({
      store: second,
      project: '/p',
      policy: { rules },
      approver,
      log: 'silent',
      env: {},
    });
    const mail = gear.guard('mail', async () => 'sent');
    await one.mail();
    assert.equal(await mail(), 'sent');
    assert.equal(await mail(), 'sent');
    assert.equal(asked, 2);
    one.gear.dispose();
    gear.dispose();
  });
}

test('in a file: a synchronous tool is counted in its own tick', async () => {
  const place = newPlace();
  const [one, other] = [side(await kinds['in a file'](place)), side(await kinds['in a file'](place))];
  const results = [one.post(), other.post(), one.post(), other.post()];
  assert.deepEqual(results.map(isRefused), [false, false, false, true]);
  for (const { gear } of [one, other]) gear.dispose();
});

testWithRedis(
  'in Redis: a synchronous tool is sent away while the request is out, and passes when it comes back',
  async () => {
    const only = side(await kinds['in Redis'](newPlace()));
    assert.equal(refusalOf(only.post())?.code, 'rule_throttled');
    await only.store.shared.settled();
    assert.equal(only.post(), 'sent 1');
    only.gear.dispose();
  },
);
