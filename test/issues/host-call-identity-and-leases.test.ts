/** A host that runs calls itself got the answer of another call, and its slow probes were taken for lost ones. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function hosted(policy = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
  const task = gear.startTask({ id: 't' });
  const admit = (name: string, args: readonly unknown[] = [], id?: string) =>
    gear.admit(name, args, id === undefined ? { task: 't' } : { task: 't', id });
  return { clock, gear, task, admit };
}

test('a call id reused for another tool or other arguments is judged as a separate call', () => {
  const { admit, task } = hosted({ rules: [{ target: '*', condition: 'ability:rm', action: 'abort' }] });
  const first = admit('read', ['a'], 'call_0');
  assert.equal(admit('read', ['a'], 'call_0'), first);
  assert.notEqual(admit('read', ['b'], 'call_0'), first);
  assert.notEqual(admit('rm', ['a'], 'call_0').refused, undefined);
  assert.equal(task.halt?.code, 'rule_abort');
});

test('an admitted call id is refused once the task is halted', () => {
  const { admit, gear } = hosted();
  assert.equal(admit('read', [], 'c1').refused, undefined);
  gear.halt('t', 'enough');
  assert.notEqual(admit('read', [], 'c1').refused, undefined);
});

test('rules on results read the result with which a host settles a call', () => {
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

test('a probe that a host settles after twenty seconds still counts', () => {
  const { clock, breaker, admit, probe } = probing();
  clock.advance(20_000);
  assert.notEqual(admit('slow', [6]).refused, undefined);
  assert.equal(breaker.state, 'HALF_OPEN');
  if (probe.refused === undefined) probe.settle({ value: 1 });
  assert.equal(breaker.stats.halfOpenSuccesses, 1);
});

test('a probe that a host never settles frees its slot after ten minutes and records no outcome', () => {
  const { clock, breaker, admit, probe } = probing();
  clock.advance(602_000);
  assert.equal(breaker.state, 'HALF_OPEN');
  assert.equal(breaker.stats.totalNeutrals, 1);
  assert.equal(breaker.stats.inFlight, 0);
  if (probe.refused === undefined) probe.settle({ value: 1 });
  assert.deepEqual([breaker.stats.inFlight, breaker.stats.halfOpenSuccesses], [0, 0]);
  assert.equal(admit('slow', [7]).refused, undefined);
});

test('a call that a host never settles frees its slot after ten minutes', () => {
  const { clock, gear, admit } = hosted({ circuit_breaker: { max_concurrent: 1 }, task: { max_idle_secs: 3_600 } });
  const lost = admit('build', [1], 'c1');
  assert.equal(lost.refused, undefined);
  clock.advance(599_000);
  assert.equal(admit('build', [2]).refused?.concurrency_limit, true);
  clock.advance(1_000);
  assert.equal(gear.breaker('build').stats.inFlight, 0);
  const next = admit('build', [3]);
  assert.equal(next.refused, undefined);
  if (lost.refused === undefined) lost.settle({ error: new Error('late') });
  assert.deepEqual([gear.breaker('build').stats.inFlight, gear.breaker('build').stats.totalFailures], [1, 0]);
});

test('the slot of a settled call is not freed a second time', () => {
  const { clock, gear, admit } = hosted({ circuit_breaker: { max_concurrent: 1 }, task: { max_idle_secs: 3_600 } });
  const first = admit('build', [1]);
  if (first.refused === undefined) first.settle({ value: 1 });
  clock.advance(300_000);
  admit('build', [2]);
  clock.advance(300_000);
  assert.deepEqual([gear.breaker('build').stats.inFlight, gear.breaker('build').stats.totalNeutrals], [1, 0]);
});
