/** A timeout that was set for one model did not hold: models had none at all. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, type GuardOptions, type PolicyDocument } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

/** How a call of 40 s ends. */
async function callFor40Secs(policy: PolicyDocument, options: GuardOptions): Promise<unknown> {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
  const work = () => new Promise<string>((resolve) => clock.after(40_000, () => resolve('late')));
  const opus = gear.guard('opus', work, { ...options, async: true } as GuardOptions<typeof work>);
  const ended = opus().catch((error: Error) => error.name);
  await clock.elapse(41_000);
  return ended;
}

test('a model call has the timeout set for the model name or in code', async () => {
  assert.equal(await callFor40Secs({ tools: { opus: { timeout_secs: 10 } } }, { kind: 'model' }), 'TimeoutError');
  assert.equal(await callFor40Secs({ tools: { 'op*': { timeout_secs: 10 } } }, { kind: 'model' }), 'TimeoutError');
  assert.equal(await callFor40Secs({}, { kind: 'model', timeoutSecs: 10 }), 'TimeoutError');
  assert.equal(await callFor40Secs({}, { kind: 'delegation', timeoutSecs: 10 }), 'TimeoutError');
});

test('the general timeout does not apply to models, and a model timeout can be switched off', async () => {
  assert.equal(await callFor40Secs({}, { kind: 'model' }), 'late');
  assert.equal(await callFor40Secs({ circuit_breaker: { timeout_secs: 10 } }, { kind: 'model' }), 'late');
  const agents = { agent: { circuit_breaker: { timeout_secs: 10 } } };
  assert.equal(await callFor40Secs({ agents }, { kind: 'model' }), 'late');
  const tools = { opus: { timeout_secs: 10 } };
  assert.equal(await callFor40Secs({ tools }, { kind: 'model', timeoutSecs: 0 }), 'late');
  assert.equal(await callFor40Secs({}, { kind: 'delegation' }), 'late');
});

test('tools and steps have the general timeout', async () => {
  for (const kind of ['tool', 'step'] as const) assert.equal(await callFor40Secs({}, { kind }), 'TimeoutError');
});
