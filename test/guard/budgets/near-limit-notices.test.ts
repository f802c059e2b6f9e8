/** A budget beyond one task that is nearly used is told of once, whoever spends from it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry } from '../../../src/core/event.ts';
import { createSwitchgear, type PolicyInput, type Store } from '../../../src/index.ts';
import '../../../src/policy/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

function side(policy: PolicyInput, more: { readonly store?: Store; readonly clock?: Store['clock'] } = {}) {
  const gear = createSwitchgear({ policy, project: 'p', agent: 'A', session: 's', log: 'silent', env: {}, ...more });
  const heard: string[] = [];
  gear.onEntry((entry) => entry.type === 'notice' && heard.push(entry.message));
  return { gear, heard, tool: gear.guard('tool', async () => 'done') };
}

async function times(many: number, tool: () => Promise<unknown>): Promise<void> {
  for (let call = 0; call < many; call++) await tool();
}

const calls = (limit: number, windowSecs?: number) =>
  ({ budgets: [{ scope: 'session', unit: 'calls', limit, ...(windowSecs && { windowSecs }) }] }) as const;

test('a notice is written once at 80 % of a limit, and once more after the limit is raised', async () => {
  const { gear, heard, tool } = side(calls(10));
  await times(7, tool);
  assert.deepEqual(heard, []);
  await times(3, tool);
  assert.deepEqual(heard, ['tool calls of the session: 8 of 10']);
  const entry = gear.journal().find(({ type }) => type === 'notice') as Extract<Entry, { type: 'notice' }>;
  assert.deepEqual(entry.gauge, { name: 'session_calls', actual: 8, limit: 10 });
  assert.equal(entry.session, 's');
  gear.reload(calls(20));
  await times(10, tool);
  assert.deepEqual(heard.slice(1), ['tool calls of the session: 16 of 20']);
});

test('the notice share of the policy is used', async () => {
  const { heard, tool } = side({ ...calls(10), task: { noticeShare: 0.5 } });
  await times(10, tool);
  assert.deepEqual(heard, ['tool calls of the session: 5 of 10']);
});

test('a new window gets a new near-limit notice', async () => {
  const clock = simulatedClock();
  const { heard, tool } = side(calls(5, 60), { clock });
  await times(5, tool);
  clock.advance(70_000);
  await times(5, tool);
  assert.deepEqual(heard, Array(2).fill('tool calls of the session in any 60 s: 4 of 5'));
});

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: several processes write one near-limit notice between them`, async () => {
    const place = newPlace();
    const stores = [await make(place), await make(place)];
    const sides = stores.map((store) => side(calls(10), { store }));
    for (let call = 0; call < 10; call++) await sides[call % 2]!.tool();
    for (const store of stores) await store.shared.settled();
    const written = (await stores[0]!.shared.entries(0, 100)).filter(({ type }) => type === 'notice');
    assert.deepEqual(
      written.map((entry) => 'message' in entry && entry.message),
      ['tool calls of the session: 8 of 10'],
    );
    assert.deepEqual(
      sides.flatMap(({ heard }) => heard),
      ['tool calls of the session: 8 of 10'],
    );
    for (const { gear } of sides) gear.dispose();
  });
}
