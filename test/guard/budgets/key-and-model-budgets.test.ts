import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Refusal } from '../../../src/core/refusal.ts';
import type { JointBudget } from '../../../src/core/settings.ts';
import { createSwitchgear } from '../../../src/guard/create-switchgear.ts';
import { type RelayedCall, relayCall } from '../../../src/guard/entries/relayed-call.ts';
import { observe, runtimeOf, startTask, type TaskState } from '../../../src/guard/internal.ts';
import { readStoredBudgets } from '../../../src/operator/budgets.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

const kinds = ['memory', 'sqlite'] as const;

function open(context: TestContext, kind: (typeof kinds)[number], budgets: readonly JointBudget[]) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-keys-'));
  const store = kind === 'memory' ? memoryStore() : sqliteStore({ path: join(folder, 'gear.db') });
  const gear = createSwitchgear({ agent: 'test', store, policy: { budgets }, log: 'silent', env: {} });
  const runtime = runtimeOf(gear);
  context.after(() => {
    gear.dispose();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const begin = (task: TaskState, model: string, usd = 0.01): RelayedCall | Refusal => {
    let result: RelayedCall | Refusal | undefined;
    const set = (value: RelayedCall | Refusal) => {
      result = value;
    };
    const target = { name: model, kind: 'model', isOpaque: true } as const;
    relayCall(runtime, { target, task, args: [], maxCost: { usd, tokens: 10 }, begin: set, refuse: set, giveUp() {} });
    return result!;
  };
  const startFor = (name?: string, own: readonly JointBudget[] = []) =>
    startTask(runtime, { parent: null, ...(name && { key: { name, budgets: own } }) }, undefined);
  return { runtime, store, begin, startFor };
}

const explain = (result: RelayedCall | Refusal) => ('explanation' in result ? result.explanation : 'begun');

for (const kind of kinds) {
  test(`${kind}: all tasks of a key share its budgets, other keys and tasks without a key do not`, (context) => {
    const day: JointBudget = { scope: 'key', unit: 'model_calls', limit: 3, windowSecs: 86_400 };
    const { begin, startFor } = open(context, kind, [day]);
    const [one, two] = [startFor('ann'), startFor('ann')];
    for (const task of [one, two, one]) assert.equal(explain(begin(task, 'a')), 'begun');
    assert.equal(explain(begin(two, 'b')), 'model calls of the key ann in any 24 h: 4 of 3');
    assert.equal(two.halt, undefined, 'the budget of a key ends no task');
    assert.equal(explain(begin(startFor('bob'), 'a')), 'begun');
    const free = startFor();
    for (let call = 0; call < 4; call++) assert.equal(explain(begin(free, 'a')), 'begun');
  });

  test(`${kind}: a key has budgets of its own beside those of the policy, and the lower one holds`, (context) => {
    const { begin, startFor } = open(context, kind, [{ scope: 'key', unit: 'spend_cents', limit: 100 }]);
    const task = startFor('ann', [
      { scope: 'key', unit: 'spend_cents', limit: 5 },
      { scope: 'key', unit: 'model_calls', limit: 10 },
    ]);
    assert.equal(explain(begin(task, 'a', 0.04)), 'begun');
    assert.match(explain(begin(task, 'a', 0.02)), /spend of the key ann: \$0\.06 of \$0\.05/);
    assert.equal(explain(begin(task, 'a', 0.01)), 'begun');
  });

  test(`${kind}: calls of one model share a budget over tasks, and its growth is no further call`, (context) => {
    const { begin, startFor } = open(context, kind, [{ scope: 'model', unit: 'model_calls', limit: 2 }]);
    const call = begin(startFor(), 'large') as RelayedCall;
    for (const micros of [20_000, 30_000, 40_000]) assert.equal(call.reserve({ micros, tokens: 10 }), undefined);
    call.settleMetered({ value: undefined }, { model: 'large', inputTokens: 1, outputTokens: 1 });
    assert.equal(explain(begin(startFor(), 'large')), 'begun');
    assert.equal(explain(begin(startFor(), 'large')), 'model calls of the model large: 3 of 2');
    assert.equal(explain(begin(startFor(), 'small')), 'begun');
  });

  test(`${kind}: a stream is cut at the money of its key, and gives back what it did not use`, (context) => {
    const { begin, startFor } = open(context, kind, [{ scope: 'key', unit: 'spend_cents', limit: 10 }]);
    const task = startFor('ann');
    const call = begin(task, 'a', 0.02) as RelayedCall;
    assert.equal(call.reserve({ micros: 90_000, tokens: 10 }), undefined);
    assert.equal(call.reserve({ micros: 110_000, tokens: 10 })?.kind, 'deny');
    assert.equal(task.halt, undefined);
    call.settleMetered({ value: undefined }, { model: 'claude-haiku-4-5', inputTokens: 1, outputTokens: 1 });
    assert.equal(explain(begin(task, 'a', 0.08)), 'begun');
  });

  test(`${kind}: a budget that observes counts and refuses nothing`, async (context) => {
    const { begin, startFor, store, runtime } = open(context, kind, [
      { scope: 'global', unit: 'model_calls', limit: 2, mode: 'observe' },
    ]);
    const task = startFor();
    for (let call = 0; call < 4; call++) assert.equal(explain(begin(task, 'a')), 'begun');
    const notices = store.tail(0).filter(({ type }) => type === 'notice');
    assert.equal(notices.length, 1);
    const { shared } = store;
    if (shared === undefined) return;
    await shared.settled();
    const [budget] = await readStoredBudgets({ ...store, shared, clock: runtime.clock });
    assert.deepEqual([budget?.scope, budget?.unit, budget?.used, budget?.limit], ['global', 'model_calls', 4, 2]);
  });
}

test('usage that is observed counts for the budget of its model', (context) => {
  const { runtime, begin, startFor } = open(context, 'memory', [{ scope: 'model', unit: 'tokens', limit: 100 }]);
  const task = startFor();
  observe(runtime, task, { type: 'usage', model: 'large', inputTokens: 90, outputTokens: 5 });
  assert.match(explain(begin(task, 'large')), /tokens of the model large: 105 of 100/);
  assert.equal(explain(begin(task, 'small')), 'begun');
});
