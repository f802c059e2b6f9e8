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

test('a leaf that failed is booked, and its team is not booked again for it', async () => {
  assert.deepEqual(await booked((gear) => gear.delegate('leaf', failing)), ['leaf']);
});

test('a leaf that failed and then did it does not hide that the team failed by itself', async () => {
  const team = async (gear: ReturnType<typeof createSwitchgear>) => {
    await gear.delegate('leaf', failing).catch(() => {});
    await gear.delegate('leaf', async () => 'done');
    throw new Error('the team has another problem');
  };
  assert.deepEqual(await booked(team), ['leaf', 'team']);
});

test('another leaf that did its work does not excuse the one that failed', async () => {
  const team = async (gear: ReturnType<typeof createSwitchgear>) => {
    await gear.delegate('leaf', failing).catch(() => {});
    await gear.delegate('other', async () => 'done');
    throw new Error('because of the leaf');
  };
  assert.deepEqual(await booked(team), ['leaf']);
});
