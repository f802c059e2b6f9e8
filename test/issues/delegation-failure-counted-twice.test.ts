/** A failure below a team is booked once; one that came right does not hide the team's own later failure. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';

const failing = async () => {
  throw new Error('cannot do it');
};

/** The failures that were booked, by worker, while a team ran. */
async function booked(team: (gear: ReturnType<typeof createSwitchgear>) => Promise<unknown>) {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const found: string[] = [];
  gear.onEntry((entry) => {
    if (entry.type === 'delegation-returned' && entry.failed) found.push(entry.worker);
  });
  await gear.task({}, () => gear.delegate('team', () => team(gear)).catch(() => {}));
  return found;
}

test('the failure of a worker is not counted again for the worker that delegated to it', async () => {
  assert.deepEqual(await booked((gear) => gear.delegate('leaf', failing)), ['leaf']);
});

test('a delegating worker’s own failure counts if its nested worker succeeded on a second attempt', async () => {
  const team = async (gear: ReturnType<typeof createSwitchgear>) => {
    await gear.delegate('leaf', failing).catch(() => {});
    await gear.delegate('leaf', async () => 'done');
    throw new Error('the team has another problem');
  };
  assert.deepEqual(await booked(team), ['leaf', 'team']);
});

test('the success of one nested worker does not cancel the failure of another', async () => {
  const team = async (gear: ReturnType<typeof createSwitchgear>) => {
    await gear.delegate('leaf', failing).catch(() => {});
    await gear.delegate('other', async () => 'done');
    throw new Error('because of the leaf');
  };
  assert.deepEqual(await booked(team), ['leaf']);
});
