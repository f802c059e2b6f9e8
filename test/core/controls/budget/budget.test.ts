import assert from 'node:assert/strict';
import { test } from 'node:test';
import { success } from '../../../../src/core/action.ts';
import { budget, continueBudget, microsPerCent } from '../../../../src/core/controls/budget/budget.ts';
import { allow, type Code, type Verdict } from '../../../../src/core/verdict.ts';
import { bindControl, makeAction, makeLimits, makePermit, makeStop } from '../../../harness/control-story.ts';

const halt = (code: Code, actual: number, limit: number): Verdict => ({
  kind: 'halt',
  code,
  control: 'budget',
  counters: { actual, limit },
});

test('the budget control applies to the chain of tasks and starts at zero', () => {
  const { name, scope, initial } = budget(makeLimits());
  assert.deepEqual([name, scope], ['budget', 'chain']);
  assert.deepEqual(initial(7), { calls: 0, tokens: 0, micros: 0, reservedTokens: 0, reservedMicros: 0 });
});

test('own tool calls count, also refused ones; waits, questions, model calls and calls of children do not', () => {
  const task = bindControl(budget(makeLimits({ maxToolCalls: 3 })));
  const rows: readonly [what: string, tell: () => void, calls: number][] = [
    ['a tool', () => task.decided(), 1],
    ['a wait comes back', () => task.decided(makeStop('wait')), 1],
    ['a question comes back', () => task.decided(makeStop('ask')), 1],
    ['a thought', () => task.decided(allow, { kind: 'model' }), 1],
    ['a call of a child', () => task.decided(allow, {}, 0, 'ancestor'), 1],
    ['a refused call', () => task.decided(makeStop('deny')), 2],
    ['a call seen in a stream', () => task.tell({ type: 'call-observed', atMs: 0, name: 'x' }), 3],
    ['one of a child', () => task.tell({ type: 'call-observed', atMs: 0, name: 'x' }, 'ancestor'), 3],
    ['words', () => task.tell({ type: 'user-observed', atMs: 0 }), 3],
  ];
  for (const [what, tell, calls] of rows) {
    tell();
    assert.equal(task.cell.state.calls, calls, what);
  }
});

test('the call above the limit halts the task, when proposed and when observed', () => {
  const task = bindControl(budget(makeLimits({ maxToolCalls: 2 })));
  task.decided();
  assert.equal(task.judge(), allow);
  task.decided();
  assert.deepEqual(task.judge(), halt('tool_call_limit', 3, 2));
  assert.equal(task.judge({ kind: 'model' }), allow);
  assert.equal(task.judge({}, 0, 'ancestor'), allow);
  assert.equal(task.check(), allow);
  task.tell({ type: 'call-observed', atMs: 0, name: 'x' });
  assert.deepEqual(task.check(), halt('tool_call_limit', 3, 2));
});

test('the maximum cost is reserved, released when the call settles, and replaced by the reported cost', () => {
  const task = bindControl(budget(makeLimits({ maxSpendCents: 2 })));
  assert.equal(task.judge({ worstMicros: 2 * microsPerCent }), allow);
  assert.deepEqual(task.judge({ worstMicros: 2 * microsPerCent + 1 }), halt('token_spend_limit', 3, 2));
  task.decided(allow, { worstMicros: 15_000, worstTokens: 7 });
  assert.deepEqual([task.cell.state.reservedMicros, task.cell.state.reservedTokens], [15_000, 7]);
  task.decided(makeStop('deny'), { worstMicros: 15_000, worstTokens: 7 });
  assert.deepEqual([task.cell.state.reservedMicros, task.cell.state.reservedTokens], [15_000, 7]);
  assert.equal(task.judge({ worstMicros: 5_000 }), allow);
  assert.deepEqual(task.judge({ worstMicros: 5_001 }), halt('token_spend_limit', 3, 2));
  task.settled(success, { worstMicros: 15_000, worstTokens: 7 }, { cost: { micros: 12_000, tokens: 40 } });
  assert.deepEqual(task.cell.state, { calls: 2, tokens: 40, micros: 12_000, reservedTokens: 0, reservedMicros: 0 });
  assert.equal(task.judge({ worstMicros: 8_000 }), allow);
  assert.deepEqual(task.judge({ worstMicros: 8_001 }), halt('token_spend_limit', 3, 2));
  task.settled(success, { worstMicros: 9, worstTokens: 9 });
  assert.deepEqual([task.cell.state.reservedMicros, task.cell.state.reservedTokens], [0, 0]);
});

test('a timed-out call keeps its reservation until its work ends, and costs the known amount', () => {
  const task = bindControl(budget(makeLimits()));
  const call = { worstMicros: 9, worstTokens: 8 };
  const held = () => [task.cell.state.reservedMicros, task.cell.state.reservedTokens];
  task.decided(allow, call);
  task.settled(success, call, { stillRuns: true, cost: { micros: 3, tokens: 2 } });
  assert.deepEqual([...held(), task.cell.state.micros], [9, 8, 3]);
  task.tell({ type: 'work-ended', atMs: 0, permit: makePermit(makeAction(call)) });
  assert.deepEqual([...held(), task.cell.state.micros], [0, 0, 3]);
});

test('spending exactly the limit is allowed; one millionth more halts and is reported as one cent more', () => {
  const task = bindControl(budget(makeLimits({ maxSpendCents: 5 })));
  task.tell({ type: 'usage-observed', atMs: 0, cost: { micros: 50_000, tokens: 10 } });
  assert.equal(task.check(), allow);
  task.tell({ type: 'usage-observed', atMs: 0, cost: { micros: 1, tokens: 1 } });
  assert.deepEqual(task.check(), halt('token_spend_limit', 6, 5));
  assert.equal(task.cell.state.tokens, 11);
});

test('tokens, including reserved ones, are limited if a token limit is set', () => {
  const task = bindControl(budget(makeLimits({ maxTokens: 100 })));
  task.decided(allow, { kind: 'model', worstTokens: 60 });
  assert.equal(task.judge({ worstTokens: 40 }), allow);
  assert.deepEqual(task.judge({ worstTokens: 41 }), halt('token_limit', 101, 100));
  task.settled(success, { worstTokens: 60 }, { cost: { micros: 0, tokens: 100 } });
  assert.equal(task.judge(), allow);
  assert.deepEqual(task.judge({ worstTokens: 1 }), halt('token_limit', 101, 100));
  assert.equal(task.check(), allow);
  task.tell({ type: 'usage-observed', atMs: 0, cost: { micros: 0, tokens: 1 } });
  assert.deepEqual(task.check(), halt('token_limit', 101, 100));
});

test('an amount reserved for a child is also reserved for its ancestors', () => {
  const above = bindControl(budget(makeLimits()));
  above.decided(allow, { worstMicros: 5, worstTokens: 6 }, 0, 'ancestor');
  assert.deepEqual([above.cell.state.reservedMicros, above.cell.state.reservedTokens], [5, 6]);
});

test('gauges report calls and cents, and tokens if a token limit is set', () => {
  const task = bindControl(budget(makeLimits({ maxToolCalls: 4, maxSpendCents: 9 })));
  task.decided();
  task.tell({ type: 'usage-observed', atMs: 0, cost: { micros: 25_000, tokens: 3 } });
  const gauges = [
    { name: 'tool_calls', actual: 1, limit: 4 },
    { name: 'spend_cents', actual: 2.5, limit: 9 },
  ];
  assert.deepEqual(task.gauges(), gauges);
  const capped = bindControl(budget(makeLimits({ maxTokens: 8 })));
  assert.deepEqual(capped.gauges()?.at(-1), { name: 'tokens', actual: 0, limit: 8 });
});

test('a retried task continues from its counters, without open reservations', () => {
  const state = budget(makeLimits()).initial(0);
  continueBudget(state, { calls: 51, tokens: 9, micros: 8, reservedTokens: 7, reservedMicros: 6 });
  assert.deepEqual(state, { calls: 51, tokens: 9, micros: 8, reservedTokens: 0, reservedMicros: 0, raises: 1 });
});
