/** A gear that was disposed of had timers armed, and went on asking. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createSwitchgear, refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const asking = [{ target: 'tool:send', condition: 'ability:send', action: 'confirm' }];
const slowing = {
  rules: [{ target: 'tool:send', condition: 'frequency>1/10s', action: 'throttle' }],
  rule_settings: { throttle: 'delay' },
};

function gearOf(options: object = {}) {
  const clock = simulatedClock();
  return { clock, gear: createSwitchgear({ clock, log: 'silent', env: {}, ...options }) };
}

test('a disposed gear leaves no timer of calls, delegations, tasks or host calls armed', async () => {
  const { clock, gear } = gearOf();
  const hang = gear.guard('hang', () => new Promise<never>(() => {}), { async: true });
  const task = gear.startTask();
  void task.run(() => hang());
  void gear.delegate('worker', () => new Promise<never>(() => {}), { timeoutSecs: 40 });
  void hang();
  gear.admit('hosted', []);
  await turn();
  assert.ok(clock.pending >= 2);
  gear.dispose();
  assert.equal(clock.pending, 0);
});

test('disposing of a gear refuses its open questions and notifies the approver', async () => {
  let signal: AbortSignal | undefined;
  const approver = {
    name: 'ann',
    ask: (_card: unknown, given: AbortSignal) => {
      signal = given;
      return new Promise<never>(() => {});
    },
  };
  const { clock, gear } = gearOf({ policy: { rules: asking }, approver });
  const send = gear.guard('send', async () => 'sent');
  const answered = send();
  await turn();
  assert.equal(signal?.aborted, false);
  gear.dispose();
  assert.equal(signal?.aborted, true);
  assert.equal(clock.pending, 0);
  assert.equal(refusalOf(await answered)?.code, 'rule_unanswered');
});

test('disposing of a gear refuses a delayed call before the call runs', async () => {
  let sent = 0;
  const { clock, gear } = gearOf({ policy: slowing });
  const send = gear.guard('send', async () => ++sent);
  await send();
  const waiting = send();
  await turn();
  assert.equal(clock.pending > 0, true);
  gear.dispose();
  assert.equal(clock.pending, 0);
  assert.equal(refusalOf(await waiting)?.code, 'rule_throttled');
  assert.equal(sent, 1);
});

test('disposing of a gear at once abandons a halted task whose function has not returned', async () => {
  const { clock, gear } = gearOf();
  const running = gear.task({ id: 't' }, () => new Promise<never>(() => {}));
  await turn();
  gear.halt('t', 'enough');
  gear.dispose();
  assert.equal((await running).status, 'halted');
  assert.equal(clock.pending, 0);
});
