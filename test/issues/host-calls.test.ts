/** A host that runs calls itself got the answer of another call, and its slow probes were taken for lost ones. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admit as admitCall, createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function hosted(policy = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
  const task = gear.startTask({ id: 't' });
  const admit = (name: string, args: readonly unknown[] = [], id?: string) =>
    admitCall(gear, name, args, id === undefined ? { task: 't' } : { task: 't', id });
  return { clock, gear, task, admit };
}

test('an id that stands for another tool or other arguments is another call, judged by itself', () => {
  const { admit, task } = hosted({ rules: [{ target: '*', condition: 'ability:rm', action: 'abort' }] });
  const first = admit('read', ['a'], 'call_0');
  assert.equal(admit('read', ['a'], 'call_0'), first);
  assert.notEqual(admit('read', ['b'], 'call_0'), first);
  assert.notEqual(admit('rm', ['a'], 'call_0').refused, undefined);
  assert.equal(task.halt?.code, 'rule_abort');
});

test('a call that was let through is not let through again once its task is halted', () => {
  const { admit, gear } = hosted();
  assert.equal(admit('read', [], 'c1').refused, undefined);
  gear.halt('t', 'enough');
  assert.notEqual(admit('read', [], 'c1').refused, undefined);
});

test('rules on results read what a host settles with', () => {
  const rules = [{ target: 'tool:read', condition: 'output:result|contains:secret', action: 'abort' }];
  const { admit, task } = hosted({ rules });
  const admission = admit('read');
  if (admission.refused === undefined) admission.settle({ value: 'a secret' });
  assert.equal(task.halt?.code, 'rule_abort');
});

function probing() {
  const { clock, gear, admit } = hosted();
  for (let call = 0; call < 5; call++) {
    const admission = admit('slow', [call]);
    if (admission.refused === undefined) admission.settle({ error: new Error('down') });
  }
  clock.advance(60_000);
  const probe = admit('slow', [5]);
  assert.equal(gear.breaker('slow').state, 'HALF_OPEN');
  return { clock, breaker: gear.breaker('slow'), admit, probe };
}

test('a probe that a host takes twenty seconds for is no lost one', () => {
  const { clock, breaker, admit, probe } = probing();
  clock.advance(20_000);
  assert.notEqual(admit('slow', [6]).refused, undefined);
  assert.equal(breaker.state, 'HALF_OPEN');
  if (probe.refused === undefined) probe.settle({ value: 1 });
  assert.equal(breaker.stats.halfOpenSuccesses, 1);
});

test('a probe that a host never settles frees its place after ten minutes and says nothing about the tool', () => {
  const { clock, breaker, admit, probe } = probing();
  clock.advance(602_000);
  assert.equal(breaker.state, 'HALF_OPEN');
  assert.equal(breaker.stats.totalNeutrals, 1);
  assert.equal(breaker.stats.inFlight, 0);
  if (probe.refused === undefined) probe.settle({ value: 1 });
  assert.deepEqual([breaker.stats.inFlight, breaker.stats.halfOpenSuccesses], [0, 0]);
  assert.equal(admit('slow', [7]).refused, undefined);
});
