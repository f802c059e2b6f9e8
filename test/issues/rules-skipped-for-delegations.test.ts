/** Rules did not see delegations: what a rule forbade or wanted confirmed could still be sent to a worker. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf, type SwitchgearOptions } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function ruled(action: 'abort' | 'confirm', options: SwitchgearOptions = {}) {
  const policy = { rules: [{ target: '*', condition: 'ability:chef_team', action }] };
  return createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy, ...options });
}

test('a rule that forbids a worker stops the delegation and ends the task', async () => {
  const gear = ruled('abort');
  let ran = 0;
  const result = await gear.task({}, () => gear.delegate('chef_team', () => ++ran));
  assert.equal(ran, 0);
  assert.equal(result.status === 'halted' && result.halt.code, 'rule_abort');
});

test('a confirm rule for a worker asks once, and the worker runs after the approval', async () => {
  const asked: string[] = [];
  const approver = {
    name: 'boss',
    async ask(card: { readonly evidence: readonly string[] }) {
      asked.push(card.evidence[0] ?? '');
      return { approved: true, by: 'ann' };
    },
  };
  const gear = ruled('confirm', { approver });
  const result = await gear.task({}, () => gear.delegate('chef_team', () => 'soup'));
  assert.deepEqual(asked, ['agent wants to call chef_team']);
  assert.deepEqual(result, { status: 'done', value: 'soup' });
});

test('a delegation without a confirmation does not run, and the refusal counts', async () => {
  const gear = ruled('confirm');
  let ran = 0;
  const task = gear.startTask();
  const value = await task.run(() => gear.delegate('chef_team', () => ++ran));
  assert.equal(refusalOf(value)?.code, 'rule_unanswered');
  assert.equal(task.snapshot().toolCalls, 1);
  assert.equal(ran, 0);
});

test('a rule on results reads the result of a worker', async () => {
  const policy = {
    rules: [{ target: 'tool:chef', condition: 'output:result|contains:poison', action: 'abort' }],
  } as const;
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy });
  const result = await gear.task({}, () => gear.delegate('chef', () => 'a poisonous soup'));
  assert.equal(result.status === 'halted' && result.halt.code, 'rule_abort');
});

test('a delegation beyond the maximum depth is recorded and counts as refused', async () => {
  const policy = { delegation: { max_depth: 1 } };
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy });
  const result = await gear.task({}, () => gear.delegate('a', () => gear.delegate('b', () => 'deep')));
  assert.equal(refusalOf(result.value)?.code, 'delegation_limit');
  assert.equal(gear.journal().filter(({ type }) => type === 'action-refused').length, 1);
});

test('a gear in observe mode allows a delegation at any depth', async () => {
  const policy = { delegation: { max_depth: 1 } };
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy, mode: 'observe' });
  const result = await gear.task({}, () => gear.delegate('a', () => gear.delegate('b', () => 'deep')));
  assert.equal(result.value, 'deep');
});

for (const [onTrip, policy] of [['deny'], ['halt', { preset: 'delegation' }]] as const)
  test(`failures of a worker that is guarded or run by a host count against its limit (${onTrip})`, async () => {
    const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, ...(policy && { policy }) });
    let ran = 0;
    const guarded = gear.guard('worker', () => ({ error: `failed ${++ran}` }), { kind: 'delegation' });
    const result = await gear.task({ session: 'one' }, () => {
      for (let time = 0; time < 4; time++) guarded();
      return refusalOf(guarded())?.code;
    });
    assert.equal(ran, 2);
    assert.deepEqual([result.status, result.value], [onTrip === 'halt' ? 'halted' : 'done', 'delegation_limit']);
    const task = gear.startTask({ session: 'two' });
    for (let time = 0; time < 2; time++) {
      const admission = gear.admit('worker', [], { kind: 'delegation', task: task.id });
      if (admission.refused === undefined) admission.settle({ error: new Error('down') });
    }
    assert.equal(task.halt?.code, onTrip === 'halt' ? 'delegation_limit' : undefined);
    const third = gear.admit('worker', [], { kind: 'delegation', task: task.id });
    assert.equal(refusalOf(third.refused)?.code, 'delegation_limit');
  });
