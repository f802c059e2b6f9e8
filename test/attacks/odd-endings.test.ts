/** Attacks by odd values at the edges of a call: results that cannot be awaited, ids that cannot be encoded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protect } from '../../src/adapters/functions.ts';
import { createBreaker } from '../../src/breaker.ts';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';

const trap = () =>
  Object.defineProperty({}, 'then', {
    get(): never {
      throw new Error('it broke');
    },
  });

const make = () => createSwitchgear({ log: 'silent', env: {}, policy: { loop: { enabled: false } } });

test('attack low: a result whose `then` throws is the failure that awaiting it is', async () => {
  for (const fn of [trap, async () => trap(), () => Promise.resolve(trap())]) {
    const gear = make();
    const tool = gear.guard('tool', fn as () => unknown);
    await gear.task({}, async () => {
      for (let n = 0; n < 5; n++) await assert.rejects(async () => await tool(), /it broke/);
      const sixth = await (async () => tool())();
      assert.ok(isRefused(sixth));
    });
    assert.equal(Object.values(gear.snapshot().breakers)[0]?.state, 'OPEN');
  }
  const tools = protect({ trap }, { gear: make() });
  for (let n = 0; n < 5; n++) await assert.rejects(async () => await (tools.trap() as unknown), /it broke/);
  assert.throws(() => tools.trap(), /trap/);
});

test('attack low: the standalone breaker counts a result whose `then` throws as a failure', async () => {
  const breaker = createBreaker({ name: 'tool' });
  for (let n = 0; n < 5; n++) await assert.rejects(async () => await (breaker.execute(trap) as unknown), /it broke/);
  assert.equal(breaker.state, 'OPEN');
});

test('attack low: half a surrogate in the name of a task, session, agent, tool or worker throws nothing', async () => {
  for (const store of [undefined, sqliteStore({ path: ':memory:' })]) {
    const half = 'a\ud800';
    const gear = createSwitchgear({
      log: 'silent',
      env: {},
      ...(store && { store }),
      policy: {
        circuitBreaker: { scope: 'task' },
        budgets: [{ scope: 'session', unit: 'calls', limit: 9 }],
        rules: ['frequency>9/1h|abort'],
      },
    });
    const tool = gear.guard(half, async () => 'page');
    const result = await gear.task({ id: half, session: half, agent: half }, async () => {
      await gear.delegate(half, () => ({ status: 'done' }));
      return tool();
    });
    assert.deepEqual(result.status === 'done' && result.value, 'page');
    await gear.dispose();
  }
});

test('attack low: a model can add a hundred rules, not thousands that every call looks at', () => {
  const gear = make();
  const taken = Array.from({ length: 500 }, (_, n) => gear.addModelRules([`key${n}>1|confirm|"rule"`]).length);
  assert.equal(
    taken.reduce((sum, each) => sum + each, 0),
    100,
  );
  assert.ok(gear.journal().some(({ type }) => type === 'rule-rejected'));
});

test('attack low: calls that overflow the stack, beside the guard or through it, leave no call running', async () => {
  const overflow = (): number => overflow() + 1;
  for (const mode of ['off', 'enforce'] as const) {
    const gear = createSwitchgear({
      log: 'silent',
      env: {},
      policy: { loop: { enabled: false }, circuitBreaker: { mode } },
    });
    const beside = gear.guard('beside', () => overflow());
    const besideLater = gear.guard('later', async () => overflow());
    const through = gear.guard('through', (): unknown => through());
    const small = gear.guard('small', () => 1);
    const attempt = (run: () => unknown) => {
      try {
        run();
      } catch {
        // The overflow, or its refusal.
      }
    };
    // Calls with ever more room on the stack, beginning with none.
    const climb = (calls: { left: number }): void => {
      attempt(() => climb(calls));
      if (calls.left-- > 0) attempt(() => small());
    };
    for (let n = 0; n < 20; n++) {
      attempt(() => beside());
      attempt(() => through());
      await Promise.resolve()
        .then(() => besideLater())
        .catch(() => {});
    }
    climb({ left: 2_000 });
    assert.deepEqual(
      gear.snapshot().breakers.map(({ inFlight }) => inFlight),
      [0, 0, 0, 0],
    );
    assert.equal(small(), 1);
  }
});
