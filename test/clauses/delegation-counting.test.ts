import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkCircuitBreaker,
  delegationBreaker,
  MAX_DELEGATION_FAILURES,
  recordDelegationFailure,
} from '../../src/compat/index.ts';
import { refusalOf } from '../../src/index.ts';
import { supervised, worker } from './supervised-gear.ts';

const quiet = () => {};
const cannot = 'I cannot list kitchens';

/** A supervisor that keeps sending work to the same worker; how often the worker ran, and how it ended. */
async function insist(policy: Record<string, unknown>, tries: number) {
  const { gear, failures } = supervised({ policy: { delegation: policy } });
  const chefs = worker(cannot);
  const result = await gear.task({}, async () => {
    for (let i = 0; i < tries; i++) await gear.delegate('chef_team', chefs);
  });
  return { ran: chefs.ran, status: result.status, failures: failures() };
}

const says = (value: unknown) => () => value;

test('D1: a worker that failed twice in a conversation is not sent a third time', async () => {
  const { gear } = supervised();
  const chefs = worker(cannot);
  for (let turn = 0; turn < 4; turn++) await gear.task({}, () => gear.delegate('chef_team', chefs));
  assert.equal(chefs.ran, 2);
});

test('D2: a worker is a subagent or a tool', async () => {
  assert.equal((await insist({}, 4)).ran, 2);
  const { gear } = supervised({ policy: { preset: 'delegation' } });
  let ran = 0;
  const search = gear.guard('search_recipes', () => {
    ran++;
    throw new Error('no index');
  });
  const result = await gear.task({}, () => {
    for (let i = 0; i < 4; i++) {
      try {
        search();
      } catch {}
    }
  });
  assert.deepEqual([ran, result.status], [2, 'halted']);
});

test('D3: the state field delegation_failures maps worker names to counts', () => {
  let state = recordDelegationFailure({}, 'chef_team', cannot, quiet);
  state = recordDelegationFailure(state, 'chef_team', cannot, quiet);
  state = recordDelegationFailure(state, 'visualization', cannot, quiet);
  assert.deepEqual(state, { delegation_failures: { chef_team: 2, visualization: 1 } });
});

test('D4: a worker has tripped after two failures, may retry after one, and starts without any', () => {
  const state = { delegation_failures: { chef_team: 2, visualization: 1, marketing: 0 } };
  const may = ['chef_team', 'visualization', 'marketing', 'accounting'].map(
    (worker) => checkCircuitBreaker(state, worker)[0],
  );
  assert.deepEqual(may, [false, true, true, true]);
});

test('D5: the counters of workers are independent', async () => {
  const { gear, failures } = supervised();
  await gear.task({}, async () => {
    await gear.delegate('chef_team', says(cannot));
    await gear.delegate('visualization', says(cannot));
    await gear.delegate('marketing', says('done'));
  });
  assert.deepEqual([failures('chef_team'), failures('visualization'), failures('marketing')], [1, 1, 0]);
});

test('D6: recording a failure returns a partial update with a new map, and does not change the state', () => {
  const state = Object.freeze({ messages: ['hi'], delegation_failures: Object.freeze({ chef_team: 1 }) });
  const update = recordDelegationFailure(state, 'chef_team', cannot, quiet);
  assert.deepEqual(update, { delegation_failures: { chef_team: 2 } });
  assert.notEqual(update.delegation_failures, state.delegation_failures);
  assert.deepEqual(state, { messages: ['hi'], delegation_failures: { chef_team: 1 } });
});

test('D7: the first recording gives count 1 for that worker', () => {
  const reason = 'Worker reported: I do not have ability to list kitchens';
  assert.deepEqual(recordDelegationFailure({}, 'chef_team', reason, quiet), { delegation_failures: { chef_team: 1 } });
});

test('D8: the check gives a pair of may-delegate and a reason', () => {
  const free = checkCircuitBreaker({}, 'chef_team');
  const blocked = checkCircuitBreaker({ delegation_failures: { chef_team: 2 } }, 'chef_team');
  assert.deepEqual(free, [true, '']);
  assert.equal(blocked.length, 2);
  assert.deepEqual([blocked[0], typeof blocked[1]], [false, 'string']);
});

test('D9: when blocked, the reason carries the tag, the worker, its count and the limit', () => {
  const [, reason] = checkCircuitBreaker({ delegation_failures: { chef_team: 2 } }, 'chef_team');
  assert.equal(reason, 'CIRCUIT BREAKER: chef_team has failed 2 times (limit: 2)');
});

test('D10: MAX_DELEGATION_FAILURES is 2', () => {
  assert.equal(MAX_DELEGATION_FAILURES, 2);
});

test('D11: the limit can be set to 3', async () => {
  const { checkCircuitBreaker: check } = delegationBreaker({ maxFailures: 3, log: quiet });
  assert.deepEqual(
    [2, 3].map((count) => check({ delegation_failures: { w: count } }, 'w')[0]),
    [true, false],
  );
  assert.equal((await insist({ max_failures: 3 }, 9)).ran, 3);
});

test('D12: the limit can be set to 1, and the first failure trips', async () => {
  const strict = delegationBreaker({ maxFailures: 1, log: quiet });
  const state = strict.recordDelegationFailure({}, 'w', cannot);
  assert.equal(strict.checkCircuitBreaker(state, 'w')[0], false);
  assert.equal((await insist({ max_failures: 1 }, 9)).ran, 1);
});

test('D14: a reported limitation is recorded and the run may retry, or ends where the policy says so', async () => {
  assert.deepEqual(await insist({}, 1), { ran: 1, status: 'done', failures: 1 });
  assert.deepEqual(await insist({ on_failure: 'end' }, 4), { ran: 1, status: 'halted', failures: 1 });
});

test('D15: the routing decision comes after the failure was recorded and is the supervisor\u2019s own', async () => {
  const { gear, failures } = supervised();
  const seen: number[] = [];
  const answers: unknown[] = [];
  await gear.task({}, async () => {
    for (let i = 0; i < 2; i++) {
      seen.push(failures());
      const worker = seen.at(-1) === 0 ? 'chef_team' : 'concierge';
      answers.push(await gear.delegate(worker, says(worker === 'chef_team' ? cannot : 'Two kitchens.')));
    }
  });
  assert.deepEqual(seen, [0, 1]);
  assert.deepEqual(answers, [cannot, 'Two kitchens.']);
});

test('D16: the breaker of the chosen worker is checked before it is delegated to', async () => {
  const { gear } = supervised();
  const result = await gear.task({}, async () => {
    for (let i = 0; i < 2; i++) await gear.delegate('chef_team', says(cannot));
    let ran = false;
    const value = await gear.delegate('chef_team', () => {
      ran = true;
    });
    assert.equal(refusalOf(value)?.code, 'delegation_limit');
    assert.equal(ran, false);
    return gear.delegate('baker', says('bread'));
  });
  assert.deepEqual(result, { status: 'done', value: 'bread' }, 'the run goes on with another worker');
});

test('D17: a blocked delegation sends the breaker message and ends the run; a free one is delegated', async () => {
  const { gear } = supervised({ policy: { preset: 'delegation' } });
  const result = await gear.task({}, async (task) => {
    for (let i = 0; i < 2; i++) assert.equal(await gear.delegate('chef_team', says(cannot)), cannot);
    assert.equal(refusalOf(await gear.delegate('baker', says('bread')))?.code, 'delegation_limit');
    assert.equal(task.signal.aborted, true);
  });
  assert.equal(result.status, 'halted');
  assert.match(result.status === 'halted' ? result.halt.explanation : '', /Safety limit reached: chef_team/);
});

test('D18: every supervisor in the hierarchy checks and records failures', async () => {
  const { gear } = supervised();
  const recipes = worker(cannot);
  const menus = worker(cannot);
  await gear.task({}, () =>
    gear.delegate('chef_team', async () => {
      for (let i = 0; i < 4; i++) await gear.delegate('recipes', recipes);
      await gear.delegate('sous_chef', async () => {
        for (let i = 0; i < 4; i++) await gear.delegate('menus', menus);
      });
    }),
  );
  assert.deepEqual([recipes.ran, menus.ran], [2, 2]);
});
