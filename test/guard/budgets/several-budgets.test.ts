/** Calls that spend from several budgets of a shared store, are counted by rules and probe a breaker, all at once. */

import assert from 'node:assert/strict';
import type { BudgetWindow } from '../../../src/core/controls/budget/joint-budget.ts';
import { createSwitchgear, type PolicyInput, refusalOf } from '../../../src/index.ts';
import '../../../src/policy/index.ts';
import type { SqliteStore } from '../../../src/stores/sqlite/index.ts';
import { bothStores, testOn, until } from '../../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

const scopes = ['global', 'project', 'agent', 'session'] as const;
/** A budget of calls for everybody there is, and one of an hour. */
const five = [
  ...scopes.map((scope) => ({ scope, unit: 'calls', limit: 5 }) as const),
  { scope: 'global', unit: 'calls', limit: 5, windowSecs: 3600 } as const,
];
const mailRule = { target: 'tool:mail', condition: 'frequency>5/1h', action: 'throttle' } as const;

function side(store: SqliteStore, policy: PolicyInput) {
  const gear = createSwitchgear({ store, project: 'p', agent: 'A', session: 's', policy, log: 'silent', env: {} });
  let sent = 0;
  const mail = gear.guard('mail', async (fails?: 'fails') => {
    if (fails) throw new Error('no');
    return ++sent;
  });
  const post = gear.guard('mail', () => ++sent, { async: false });
  return { gear, store, mail, post, sent: () => sent };
}

/** What is booked of each budget. */
async function booked(store: SqliteStore): Promise<readonly number[]> {
  const stored = await store.shared.read('budget/', 100);
  return stored.map(({ state }) => (state as BudgetWindow).sums.reduce((sum, one) => sum + one, 0));
}

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: an asynchronous call with five budgets and a frequency rule is allowed up to the limit`, async () => {
    const { gear, mail, sent } = side(await make(newPlace()), { budgets: five, rules: [mailRule] });
    for (let call = 1; call <= 5; call++) assert.equal(await mail(), call);
    assert.notEqual(refusalOf(await mail()), undefined);
    assert.equal(sent(), 5);
    gear.dispose();
  });

  test(`${name}: a synchronous call with five budgets is refused at most once before it runs`, async () => {
    const { gear, post, store } = side(await make(newPlace()), { budgets: five });
    for (let call = 1; call <= 5; call++) {
      let answer = post();
      await store.shared.settled();
      if (name === 'in Redis' && refusalOf(answer) !== undefined) answer = post();
      assert.equal(answer, call);
    }
    gear.dispose();
  });

  test(`${name}: a call refused by one budget returns the amounts taken from other budgets`, async () => {
    const place = newPlace();
    const budgets = [
      { scope: 'project', unit: 'calls', limit: 3 },
      { scope: 'global', unit: 'calls', limit: 1, windowSecs: 3600 },
    ] as const;
    const { gear, mail } = side(await make(place), { budgets });
    assert.equal(await mail(), 1);
    for (let call = 0; call < 3; call++) assert.equal(refusalOf(await mail())?.counters.scope, 'global');
    gear.dispose();
    const later = await make(place);
    await until(async () => (await booked(later)).every((sum) => sum === 1));
    later.close();
  });

  test(`${name}: a call refused by a half-open breaker counts in no frequency rule and no budget`, async () => {
    const place = newPlace();
    const policy = {
      circuitBreaker: { recoveryTimeoutSecs: 0.05, successThreshold: 1, failureThreshold: 1 },
      budgets: [{ scope: 'global', unit: 'calls', limit: 4 }],
      rules: [{ ...mailRule, condition: 'frequency>4/1h' }],
    } as const;
    const [one, other] = [side(await make(place), policy), side(await make(place), policy)];
    await assert.rejects(one.mail('fails')); // The first of four: it opens the breaker.
    const [open, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = one.gear.guard('mail', async () => {
      open.resolve();
      await end.promise;
      return 'probed';
    });
    let probe: Promise<unknown> = Promise.resolve();
    await until(() => {
      probe = slow();
      return Promise.race([open.promise.then(() => true), probe.then(() => false)]);
    });
    for (let call = 0; call < 10; call++) assert.equal(refusalOf(await other.mail())?.code, 'circuit_open');
    end.resolve();
    assert.equal(await probe, 'probed'); // The second.
    await until(async () => refusalOf(await other.mail()) === undefined); // The third.
    await until(async () => refusalOf(await one.mail()) === undefined); // The fourth; what is left may be on its way.
    assert.notEqual(refusalOf(await one.mail()), undefined);
    for (const { gear } of [one, other]) gear.dispose();
  });
}
