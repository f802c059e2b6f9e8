/** Budgets beyond one task in one process: whose they are, what they end, and what becomes of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundBudgetsMax } from '../../../src/core/limits.ts';
import { replay } from '../../../src/core/replay/replay.ts';
import { createSwitchgear, memoryStore, refusalOf } from '../../../src/index.ts';
import type { BudgetDocument } from '../../../src/policy/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

type Budget = BudgetDocument;

const calls = (scope: Budget['scope'], limit: number, more: Partial<Budget> = {}): Budget => ({
  scope,
  unit: 'calls',
  limit,
  ...more,
});

function gearWith(budgets: readonly Budget[], more: Parameters<typeof createSwitchgear>[0] = {}) {
  const clock = simulatedClock();
  const policy = { budgets, journal: { level: 'all' }, loop: { enabled: false } } as const;
  const gear = createSwitchgear({ policy, clock, log: 'silent', env: {}, agent: 'a', session: 's', ...more });
  const tool = gear.guard('work', (at: number) => at);
  /** Calls so often in a task of its own, and says how many were let through and why not all. */
  const spend = async (times: number, said: Parameters<typeof gear.task>[0] = {}) => {
    let passed = 0;
    const result = await gear.task(said, () => {
      for (let at = 0; at < times; at++) if (refusalOf(tool(at)) === undefined) passed++;
    });
    return [passed, result.status === 'halted' ? result.halt.explanation : 'done'] as const;
  };
  return { gear, clock, tool, spend };
}

test('all tasks of a gear spend from one budget, and the task that finds it used up is halted', async () => {
  const { gear, spend } = gearWith([calls('global', 5)]);
  assert.deepEqual(await spend(3), [3, 'done']);
  assert.deepEqual(await spend(3, { agent: 'b', session: 'other' }), [2, 'tool calls of all agents: 6 of 5']);
  assert.deepEqual(await spend(1), [0, 'tool calls of all agents: 6 of 5']);
  const [card] = gear.snapshot().cards;
  assert.deepEqual([card?.code, card?.counters], ['tool_call_limit', { scope: 'global', actual: 6, limit: 5 }]);
});

test('each session and each agent has its own budget', async () => {
  const { spend } = gearWith([calls('session', 2), calls('agent', 3)]);
  assert.deepEqual(await spend(2, { session: 's1' }), [2, 'done']);
  assert.deepEqual(await spend(2, { session: 's2' }), [1, 'tool calls of the agent: 4 of 3']);
  assert.deepEqual(await spend(2, { session: 's2', agent: 'b' }), [1, 'tool calls of the session: 3 of 2']);
  assert.deepEqual(await spend(2, { session: 's3', agent: 'b' }), [2, 'done']);
});

test('gears of one store share budgets, except between projects', async () => {
  const store = memoryStore(simulatedClock());
  const one = gearWith([calls('project', 2), calls('global', 3)], { store, project: 'one' });
  const two = gearWith([calls('project', 2), calls('global', 3)], { store, project: 'two' });
  assert.deepEqual(await one.spend(3), [2, 'tool calls of the project: 3 of 2']);
  assert.deepEqual(await two.spend(3), [1, 'tool calls of all agents: 4 of 3']);
});

test('a session budget also halts the root task of the session; other budgets only the calling task', async () => {
  for (const [scope, rootHalts] of [
    ['session', true],
    ['agent', false],
    ['project', false],
    ['global', false],
  ] as const) {
    const { gear, tool } = gearWith([calls(scope, 1)]);
    const outer = await gear.task({}, async (root) => {
      const inner = await gear.task({}, () => [tool(1), tool(2)].map((value) => refusalOf(value)?.code));
      assert.deepEqual([inner.status, inner.value], ['halted', [undefined, 'tool_call_limit']], scope);
      return root.halt !== undefined;
    });
    assert.equal(outer.value, rootHalts, scope);
  }
});

test('a call outside any task spends from the budget, and only that call is refused', () => {
  const { tool } = gearWith([calls('global', 1)]);
  assert.equal(tool(1), 1);
  const refusal = refusalOf(tool(2));
  assert.deepEqual([refusal?.kind, refusal?.message], ['deny', 'Call refused: tool calls of all agents: 2 of 1']);
});

test('the maximum cost is reserved while a call runs, and the unused part is released', async () => {
  const { gear } = gearWith([{ scope: 'global', unit: 'spend_cents', limit: 10 }]);
  let end = () => {};
  const think = gear.guard('model', () => new Promise<number>((resolve) => (end = () => resolve(1))), {
    kind: 'model',
    async: true,
    maxCost: { usd: 0.06 },
    usage: () => ({ inputTokens: 0, outputTokens: 0, costUsd: 0.02 }),
  });
  await gear.task({}, async () => {
    const first = think();
    const other = await gear.task({ parent: null }, () => think());
    assert.equal(other.status === 'halted' && other.halt.explanation, 'spend of all agents: $0.12 of $0.10');
    end();
    assert.equal(await first, 1);
    const second = think();
    end();
    assert.equal(await second, 1);
  });
});

test('usage reported later halts the task when it exceeds the limit', async () => {
  const { gear } = gearWith([{ scope: 'agent', unit: 'tokens', limit: 100 }]);
  const result = await gear.task({}, (task) => {
    task.observe({ type: 'usage', inputTokens: 60, outputTokens: 40 });
    assert.equal(task.halt, undefined);
    return task.observe({ type: 'usage', inputTokens: 1, outputTokens: 0 })?.code;
  });
  assert.equal(result.value, 'token_limit');
});

test('a budget window slides with the clock', async () => {
  const { spend, clock } = gearWith([calls('global', 2, { window_secs: 60 })]);
  const full = 'tool calls of all agents in any 60 s: 3 of 2';
  assert.deepEqual(await spend(3), [2, full]);
  clock.advance(60_000);
  assert.deepEqual(await spend(1), [0, full]);
  clock.advance(5_000);
  assert.deepEqual(await spend(3), [2, full]);
});

test('the amount spent still counts after a policy reload', async () => {
  const { gear, spend } = gearWith([calls('global', 2)]);
  assert.equal((await spend(3))[0], 2);
  gear.reload({ budgets: [calls('global', 4)] });
  assert.deepEqual(await spend(3), [2, 'tool calls of all agents: 5 of 4']);
  gear.reload({});
  assert.deepEqual(await spend(3), [3, 'done']);
});

test('a task halted by a global budget is retried with unchanged task limits', async () => {
  const { gear, spend } = gearWith([calls('global', 1)]);
  await spend(2, { id: 'x', limits: { maxToolCalls: 7 } });
  assert.equal(gear.retryOptions('x')?.limits?.maxToolCalls, 7);
});

test('a global budget keeps its count when session budgets exceed the maximum kept', async () => {
  const { gear, tool } = gearWith([calls('global', boundBudgetsMax + 1), calls('session', 5)]);
  for (let at = 0; at <= boundBudgetsMax; at++) {
    const task = gear.startTask({ session: `s${at}` });
    task.run(() => tool(at));
    task.end();
  }
  const { value } = await gear.task({}, () => refusalOf(tool(0))?.explanation);
  assert.equal(value, `tool calls of all agents: ${boundBudgetsMax + 2} of ${boundBudgetsMax + 1}`);
});

test('a gear in observe mode reports an exceeded budget and allows every call', async () => {
  const { gear, spend } = gearWith([calls('global', 1)], { mode: 'observe' });
  assert.deepEqual(await spend(3), [3, 'done']);
  const reported = gear
    .journal()
    .flatMap((entry) =>
      entry.type === 'action-refused' && entry.decision.verdict.kind === 'halt'
        ? [[entry.enforced, entry.decision.verdict.counters.actual]]
        : [],
    );
  assert.deepEqual(reported, [
    [false, 2],
    [false, 3],
  ]);
});

test('a replay of a journal with session and global budgets gives the same decisions', async () => {
  const { gear, spend, tool, clock } = gearWith([calls('session', 4), calls('global', 6, { window_secs: 12 })]);
  await spend(5);
  clock.advance(3_000);
  await spend(9, { session: 'other', agent: 'b' });
  tool(1);
  clock.advance(14_000);
  await gear.task({ session: 'third' }, (task) => {
    task.observe({ type: 'tool_use', name: 'seen' });
    tool(2);
  });
  const all = replay(gear.journal(), gear.settings);
  assert.deepEqual([all.differences, all.decisions > 10], [[], true]);
  const records = { ...gear.settings, journal: { ...gear.settings.journal, level: 'refusals' as const } };
  assert.deepEqual(replay(gear.journal(), records).differences, []);
  const looser = { ...records, budgets: [{ scope: 'session', unit: 'calls', limit: 99 } as const] };
  assert.equal(replay(gear.journal(), looser).differences.length > 0, true);
});
