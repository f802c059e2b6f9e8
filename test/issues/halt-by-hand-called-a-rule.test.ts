/** A task that a person or its caller stopped told the model that a rule forbids the call. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf, type Switchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

async function refusalAfter(stop: (gear: Switchgear, controller: AbortController) => void) {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const controller = new AbortController();
  const look = gear.guard('look', () => 1);
  const { value } = await gear.task({ signal: controller.signal }, () => {
    stop(gear, controller);
    return refusalOf(look());
  });
  gear.dispose();
  return [value?.code, value?.message, value?.remediation];
}

test('a task cancelled by its signal tells the model that the program cancelled it', async () => {
  assert.deepEqual(await refusalAfter((_, controller) => controller.abort()), [
    'cancelled',
    'Cancelled by the caller',
    'The program that started this task cancelled it. Stop now, and call nothing else.',
  ]);
});

test('a task halted by an operator tells the model that an operator halted it', async () => {
  assert.deepEqual(await refusalAfter((gear) => gear.haltAll('maintenance')), [
    'operator_halt',
    'Task stopped: maintenance',
    'An operator halted this task. Stop now, and call nothing else.',
  ]);
});
