import assert from 'node:assert/strict';
import { test } from 'node:test';
import { givenBack, success } from '../../../../src/core/action.ts';
import {
  type BudgetWindow,
  bookCharge,
  emptyWindow,
  jointBudget,
  stopOverBudget,
  takeNotice,
  usedAt,
} from '../../../../src/core/controls/budget/joint-budget.ts';
import { budgetSlices } from '../../../../src/core/limits.ts';
import type { JointBudget } from '../../../../src/core/settings.ts';
import { allow, type Stop } from '../../../../src/core/verdict.ts';
import { bindControl, makeAction, makePermit, makeStop } from '../../../harness/control-story.ts';

const inTask = { task: 't' };
const calls = (limit: number, said: Partial<JointBudget> = {}): JointBudget => ({
  scope: 'global',
  unit: 'calls',
  limit,
  ...said,
});

test('admitted tool calls of all tasks count; refused calls and model calls do not', () => {
  const all = bindControl(jointBudget(calls(3)));
  const rows: readonly [what: string, tell: () => void, used: number][] = [
    ['a tool', () => all.decided(), 1],
    ['a refused call', () => all.decided(makeStop('deny')), 1],
    ['a wait comes back', () => all.decided(makeStop('wait')), 1],
    ['a thought', () => all.decided(allow, { kind: 'model' }), 1],
    ['a delegation', () => all.decided(allow, { kind: 'delegation' }), 2],
    ['its end', () => all.settled(success), 2],
    ['a call seen in a stream', () => all.tell({ type: 'call-observed', atMs: 0, name: 'x' }), 3],
    ['one that was given back', () => all.settled(givenBack), 2],
    ['the end of its work', () => all.tell({ type: 'work-ended', atMs: 0, permit: makePermit(makeAction()) }), 2],
    ['usage', () => all.tell({ type: 'usage-observed', atMs: 0, cost: { micros: 9, tokens: 9 } }), 2],
    ['words', () => all.tell({ type: 'user-observed', atMs: 0 }), 2],
  ];
  for (const [what, tell, used] of rows) {
    tell();
    assert.deepEqual(all.cell.state.sums, [used], what);
  }
});

test('the call above the limit halts the calling task, and the counters name the scope', () => {
  const all = bindControl(jointBudget(calls(2)));
  all.decided();
  assert.equal(all.judge(inTask), allow);
  all.decided();
  assert.deepEqual(all.judge(inTask), {
    kind: 'halt',
    code: 'tool_call_limit',
    control: 'budget',
    counters: { scope: 'global', actual: 3, limit: 2 },
    reason: 'tool calls of all agents: 3 of 2',
  });
  assert.equal(all.judge({ ...inTask, kind: 'model' }), allow);
  assert.equal(all.check(), allow);
  all.tell({ type: 'call-observed', atMs: 0, name: 'x' });
  assert.equal((all.check() as Stop).kind, 'halt');
});

test('a session budget halts the root task; outside any task only the call is refused', () => {
  const { judge } = bindControl(jointBudget(calls(0, { scope: 'session' })));
  const inside = judge(inTask) as Stop;
  assert.deepEqual([inside.kind, inside.ends, inside.reason], ['halt', 'root', 'tool calls of the session: 1 of 0']);
  const outside = judge() as Stop;
  assert.deepEqual([outside.kind, outside.ends], ['deny', undefined]);
});

test('a session budget has one state per session, other budgets one per gear; the default verdict is halt', () => {
  const scopes = (['session', 'agent', 'project', 'global'] as const).map((scope) => jointBudget(calls(1, { scope })));
  assert.deepEqual(
    scopes.map(({ scope }) => scope),
    ['session', 'gear', 'gear', 'gear'],
  );
  assert.equal(stopOverBudget(calls(1), 2).kind, 'halt');
  assert.equal(stopOverBudget(calls(1), 2, 'deny').kind, 'deny');
});

test('the notice of high usage is given once per window, and again for another limit', () => {
  const budget = calls(10, { windowSecs: budgetSlices }); // A slice is one second.
  const window = emptyWindow();
  const due = (atMs: number, of = budget) => takeNotice(window, of, 0.8, atMs);
  bookCharge(window, budget, { amount: 7, atMs: 0 });
  assert.equal(due(0), undefined);
  bookCharge(window, budget, { amount: 1, atMs: 0 });
  assert.deepEqual(due(0), {
    type: 'notice',
    gauge: { name: 'global_calls', actual: 8, limit: 10 },
    message: `tool calls of all agents in any ${budgetSlices} s: 8 of 10`,
  });
  assert.equal(due(0), undefined);
  assert.equal(due(budgetSlices * 1_000), undefined, 'the window it was said in is not over');
  assert.equal(due(0, { ...budget, limit: 9 })?.gauge.limit, 9);
  assert.equal(due(0, { ...budget, limit: 11 }), undefined, 'too little of that');
  const laterMs = (budgetSlices + 1) * 1_000;
  bookCharge(window, budget, { amount: 9, atMs: laterMs });
  assert.equal(due(laterMs, { ...budget, limit: 9 })?.gauge.actual, 9);
});

test('tokens and money are reserved at the maximum and corrected to the actual cost', () => {
  const cost = { micros: 12_000, tokens: 40 };
  const worst = { ...inTask, worstMicros: 30_000, worstTokens: 100 };
  for (const [unit, code, booked, spent] of [
    ['tokens', 'token_limit', 100, 40],
    ['spend_cents', 'token_spend_limit', 30_000, 12_000],
  ] as const) {
    const all = bindControl(jointBudget(calls(unit === 'tokens' ? 100 : 3, { unit, scope: 'project' })));
    const used = () => all.cell.state.sums[0];
    assert.equal(all.judge(worst), allow);
    all.decided(allow, worst);
    assert.equal(used(), booked);
    assert.equal((all.judge(worst) as Stop).code, code);
    all.settled(success, worst, { cost });
    assert.equal(used(), spent);
    all.decided(allow, worst);
    all.settled(success, worst, { stillRuns: true });
    assert.equal(used(), spent + booked, 'what still runs may still cost');
    all.tell({ type: 'work-ended', atMs: 0, permit: makePermit(makeAction(worst)) });
    assert.equal(used(), spent);
    all.tell({ type: 'usage-observed', atMs: 0, cost });
    assert.equal(used(), 2 * spent);
    all.settled(success, inTask, { cost });
    assert.equal(used(), 3 * spent, 'what cost more than it said is spent all the same');
  }
});

test('money is reported in dollars, and a part of a cent is rounded up', () => {
  const all = bindControl(jointBudget(calls(150, { unit: 'spend_cents', scope: 'agent', windowSecs: 60 })));
  const said = all.judge({ ...inTask, worstMicros: 1_500_001 }) as Stop;
  assert.deepEqual(said.counters, { scope: 'agent', actual: 151, limit: 150, window_secs: 60 });
  assert.equal(said.reason, 'spend of the agent in any 60 s: $1.51 of $1.50');
});

test('a window slides: an amount becomes free again at most one slice late', () => {
  const windowSecs = budgetSlices; // A slice is one second.
  const all = bindControl(jointBudget(calls(2, { windowSecs })));
  all.decided(allow, {}, 500);
  all.decided(allow, {}, 4_999);
  const refusedAt = (...times: readonly number[]) => times.map((atMs) => all.judge(inTask, atMs).kind);
  assert.deepEqual(refusedAt(4_999, 12_500, 12_999, 13_000), ['halt', 'halt', 'halt', 'allow']);
  all.decided(allow, {}, 13_000);
  assert.deepEqual(refusedAt(13_000, 16_999, 17_000), ['halt', 'halt', 'allow']);
  assert.equal(all.cell.state.sums.length, budgetSlices + 1);
  all.decided(allow, {}, 1e9);
  assert.deepEqual(all.cell.state.sums, [1, ...Array(budgetSlices).fill(0)], 'all of it is long over');
});

test('a returned amount is subtracted from its own slice, and ignored once that slice has ended', () => {
  const budget = calls(10, { unit: 'tokens', windowSecs: budgetSlices });
  const all = bindControl(jointBudget(budget));
  const worst = { worstTokens: 6 };
  all.decided(allow, worst, 0);
  all.decided(allow, worst, 2_500);
  const permit = { ...makePermit(makeAction(worst)), atMs: 0 };
  const cost = { micros: 0, tokens: 5 };
  all.tell({ type: 'action-settled', atMs: 2_600, permit, outcome: success, cost });
  assert.deepEqual(all.cell.state.sums, [6, 0, 5]);
  all.tell({ type: 'action-settled', atMs: 99_000, permit: { ...permit, atMs: 2_500 }, outcome: success });
  assert.deepEqual(all.cell.state.sums, [0, 0, 5]);
  all.decided(allow, worst, 99_000);
  all.tell({ type: 'action-settled', atMs: 99_100, permit, outcome: success });
  assert.equal(all.cell.state.sums[0], 6);
});

test('no interval of the window length ever contains more than the limit, whenever calls arrive', () => {
  const budget = calls(7, { windowSecs: 3 });
  const { judge, decided } = bindControl(jointBudget(budget));
  const passed: number[] = [];
  let seed = 7;
  for (let atMs = 0; passed.length < 500; atMs += seed % 400) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    if (judge(inTask, atMs) !== allow) continue;
    decided(allow, {}, atMs);
    passed.push(atMs);
  }
  passed.forEach((atMs, at) => {
    const inside = passed.slice(0, at + 1).filter((other) => other > atMs - 3_000).length;
    assert.ok(inside <= 7, `${inside} in the window that ends at ${atMs}`);
  });
  assert.ok(passed.at(-1)! < (500 / 7) * 3_000 * (1 + 2 / budgetSlices), 'and little of it is wasted');
});

test('a charge with a time slightly in the past counts in the slice of that time', () => {
  const budget = calls(10, { windowSecs: budgetSlices });
  const window: BudgetWindow = emptyWindow();
  bookCharge(window, budget, { amount: 3, atMs: 5_000 });
  bookCharge(window, budget, { amount: 2, atMs: 4_990 });
  assert.deepEqual(window.sums.slice(0, 2), [3, 2]);
  assert.equal(usedAt(window, budget, 4_990), 5);
  assert.equal(usedAt(window, budget, 16_999), 5);
  assert.equal(usedAt(window, budget, 17_000), 3);
});
