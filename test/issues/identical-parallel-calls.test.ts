/** Identical calls of one model turn are one proposal: the model has not seen the first refusal yet. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function openGear() {
  const gear = createSwitchgear({ clock: simulatedClock(), env: {} });
  gear.breaker('search').trip();
  const ask = (turnId: string) => refusalOf(gear.admit('search', [1], { turnId }).refused)?.code;
  return { gear, ask };
}

test('three identical calls refused in one turn do not halt the task; refusals in three turns do', async () => {
  const { gear, ask } = openGear();
  await gear.task({}, () => {
    assert.deepEqual([ask('a'), ask('a'), ask('a')], ['circuit_open', 'circuit_open', 'circuit_open']);
    assert.equal(ask('b'), 'circuit_open');
    assert.equal(ask('c'), 'tool_loop');
  });
});
