/** What is held stays held for whoever comes later, what is spent is booked, and no call slips out of its task. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf } from '../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/index.ts';

test('a breaker held by an operator also refuses an agent that calls the tool for the first time', async () => {
  const gear = createSwitchgear({ agent: 'a', clock: simulatedClock(), env: {} });
  const search = gear.guard('search', () => 'found');
  search();
  gear.breaker('search').hold();
  await gear.task({ agent: 'b' }, () => assert.equal(refusalOf(search())?.code, 'circuit_open'));
  gear.breaker('search').release();
  await gear.task({ agent: 'c' }, () => assert.equal(search(), 'found'));
});

test('a call with an unknown task id is refused, not admitted without a task', () => {
  const gear = createSwitchgear({ clock: simulatedClock(), env: {} });
  const admission = gear.admit('search', [], { task: 'gone' });
  assert.equal(refusalOf(admission.refused)?.code, 'internal_error');
});

test('a call in a task that was halted and has ended gets the refusal of the halt', async () => {
  const gear = createSwitchgear({ clock: simulatedClock(), env: {} });
  await gear.task({ id: 't' }, () => gear.halt('t', 'enough'));
  assert.equal(refusalOf(gear.admit('search', [], { task: 't' }).refused)?.code, 'operator_halt');
});

test('the cost of a call that returns after its timeout counts as spent', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, env: {} });
  const work = Promise.withResolvers<number>();
  const usage = () => ({ inputTokens: 1_000_000, outputTokens: 0 });
  const ask = gear.guard('model', () => work.promise, { timeoutSecs: 5, usage });
  await gear.task({}, async (task) => {
    const call = assert.rejects(ask() as Promise<unknown>, { name: 'TimeoutError' });
    clock.advance(5_000);
    await call;
    assert.equal(task.snapshot().spendUsd, 0);
    work.resolve(1);
    await promisesSettled();
    assert.equal(task.snapshot().spendUsd, 3);
  });
});
