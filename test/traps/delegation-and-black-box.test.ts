/** Where the programs behind the delegation breaker and the session breaker went wrong. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, refusalOf, type SwitchgearOptions, type Task } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function supervised(options: SwitchgearOptions = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, session: 's', ...options });
  const failures = () => gear.snapshot().delegations.s ?? {};
  return { clock, gear, failures };
}

/** What one return of a worker books on it. */
async function booked(value: unknown, judge?: (value: unknown) => { failed: boolean }) {
  const { gear, failures } = supervised();
  await gear.task({}, () => gear.delegate('chef_team', () => value, judge && { judge }));
  return failures().chef_team ?? 0;
}

test('a user who says "I don\'t have eggs" is not a worker that failed', async () => {
  for (const role of ['user', 'human', 'system', 'developer', 'tool', undefined]) {
    const messages = [{ role, name: null, content: "I don't have eggs" }];
    assert.equal(await booked({ messages }), 0, String(role));
  }
  assert.equal(await booked({ role: 'user', name: null, content: 'I cannot come' }), 0);
  assert.equal(await booked({ messages: [{ role: 'assistant', name: null, content: "I don't have eggs" }] }), 1);
  assert.equal(await booked({ messages: [{ name: 'chef_team', content: "I don't have eggs" }] }), 1);
});

test("the breaker's own message is nobody's failure, although it contains the word cannot", async () => {
  const { gear } = supervised({ policy: { preset: 'delegation' } });
  const result = await gear.task({}, async () => {
    for (let i = 0; i < 2; i++) await gear.delegate('chef_team', () => 'I cannot list kitchens');
  });
  const said = result.status === 'halted' ? result.halt.explanation : '';
  assert.match(said, /cannot complete this request/);
  assert.equal(await booked(said), 0);
  assert.equal(await booked({ messages: [{ role: 'assistant', name: 'system', content: said }] }), 0);
});

test('typographic apostrophes are read like plain ones', async () => {
  for (const text of ['I can\u2019t list kitchens', 'I don\u2019t have that tool', 'I don\u02bct have it']) {
    assert.equal(await booked(text), 1, text);
  }
});

test('a phrase inside a longer word does not count, and the judge of the caller overrides the phrases', async () => {
  assert.equal(await booked('the cannoting of words'), 0);
  assert.equal(await booked('You cannot overcook this'), 0);
  assert.equal(await booked('I cannot overcook this'), 1);
  assert.equal(await booked('I cannot overcook this', () => ({ failed: false })), 0);
});

test('if the judge throws, the detectors decide and the error is not passed on', async () => {
  const { gear, failures } = supervised();
  const judge = () => {
    throw new Error('the judge is ill');
  };
  const result = await gear.task({}, async () => {
    assert.equal(await gear.delegate('chef_team', () => 'here is your list', { judge }), 'here is your list');
    assert.deepEqual(failures(), {});
    assert.equal(await gear.delegate('chef_team', () => 'I cannot', { judge }), 'I cannot');
  });
  assert.equal(result.status, 'done');
  assert.deepEqual(failures(), { chef_team: 1 });
  assert.equal(gear.snapshot().internalErrors, 2);
});

test('a worker that succeeds may be used as often as the supervisor likes', async () => {
  const { gear, failures } = supervised();
  const result = await gear.task({}, async () => {
    for (let i = 0; i < 20; i++) assert.equal(await gear.delegate('chef_team', () => 'done'), 'done');
  });
  assert.equal(result.status, 'done');
  assert.deepEqual(failures(), {});
});

test('parallel delegations do not overwrite each other: every failure counts', async () => {
  const { gear, failures } = supervised({ policy: { delegation: { max_failures: 10 } } });
  await gear.task({}, () =>
    Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        gear.delegate(`worker_${i % 2}`, async () => {
          await null;
          return 'I cannot';
        }),
      ),
    ),
  );
  assert.deepEqual(failures(), { worker_0: 3, worker_1: 2 });
});

test('a tripped worker is not run on the way to its alternative', async () => {
  const { gear } = supervised({ policy: { delegation: { on_trip: 'deny', alternatives: { chef_team: 'baker' } } } });
  const ran: string[] = [];
  const send = (worker: string) =>
    gear.delegate(worker, () => {
      ran.push(worker);
      return worker === 'chef_team' ? 'I cannot' : 'bread';
    });
  const result = await gear.task({}, async () => {
    for (let i = 0; i < 4; i++) {
      const value = await send('chef_team');
      const other = refusalOf(value)?.counters.alternative;
      if (other !== undefined) await send(String(other));
    }
  });
  assert.deepEqual(ran, ['chef_team', 'chef_team', 'baker', 'baker']);
  assert.equal(result.status, 'done');
});

test('a refused worker does not say that the task has stopped when it has not', async () => {
  const { gear } = supervised({ policy: { delegation: { on_trip: 'deny', max_failures: 1, max_depth: 1 } } });
  await gear.task({}, async () => {
    await gear.delegate('chef_team', () => 'I cannot');
    const refusal = refusalOf(await gear.delegate('chef_team', () => 'fine'));
    assert.match(refusal?.message ?? '', /chef_team has failed 1 times \(limit: 1\)/);
    assert.doesNotMatch(refusal?.message ?? '', /stopped/);
    const deep = refusalOf(await gear.delegate('a', () => gear.delegate('b', () => 'fine')));
    assert.match(deep?.message ?? '', /'b' .*2 levels.*limit 1/);
    assert.doesNotMatch(`${deep?.message} ${deep?.explanation}`, /failed|stopped/);
  });
});

test('a worker that was halted with an ancestor has not failed', async () => {
  for (const ticks of [0, 5]) {
    const { gear, failures } = supervised();
    const ran: string[] = [];
    await gear.task({ limits: { maxToolCalls: 3 } }, async (task) => {
      const work = gear.delegate('chef_team', async (child: Task) => {
        ran.push('chef_team');
        await new Promise<void>((resolve) => child.signal.addEventListener('abort', () => resolve()));
        return 'late';
      });
      for (let tick = 0; tick < ticks; tick++) await null;
      for (let i = 0; i < 4; i++) task.observe({ type: 'tool_use', name: 'search' });
      assert.equal(isRefused(await work), true);
    });
    assert.deepEqual(failures(), {});
    assert.deepEqual(ran, ticks === 0 ? [] : ['chef_team'], 'what is halted before it begins does not begin');
  }
});

test('a worker that a person stopped has not failed', async () => {
  const { gear, failures } = supervised();
  await gear.task({}, () =>
    gear.delegate('chef_team', (child: Task) => {
      gear.halt(child.id, 'wrong kitchen');
      return 'I cannot';
    }),
  );
  assert.deepEqual(failures(), {});
});

test('a task that is born below a halted one is given up like one that is halted later', async () => {
  const { gear, clock } = supervised();
  const parent = gear.startTask();
  gear.halt(parent.id, 'enough');
  const result = gear.task({ parent: parent.id }, () => new Promise(() => {}));
  await clock.elapse(10_000);
  assert.equal((await Promise.race([result, 'still waiting'])) === 'still waiting', false);
});

test('a delegation that never ran does not count as a failure', async () => {
  const { gear, failures } = supervised();
  await gear.task({}, async () => {
    await assert.rejects(
      gear.delegate('chef_team', () => 'x', { limits: { maxToolCalls: -1 } }),
      /-1/,
    );
  });
  assert.deepEqual(failures(), {});
});

test('a call or a usage report without a real id is counted each time', () => {
  const { gear } = supervised();
  const task = gear.startTask();
  for (const id of [null, '', undefined, null, '']) {
    task.observe({ type: 'tool_use', name: 'search', id: id as never });
    task.observe({ type: 'usage', inputTokens: 10, outputTokens: 0, id: id as never });
  }
  const { toolCalls, tokens } = task.snapshot();
  assert.deepEqual([toolCalls, tokens], [5, 50]);
});

test('an error inside the safety layer is counted where it can be seen, and a gate stays shut', () => {
  const broken = {
    name: 'broken',
    scope: 'task',
    initial: () => ({}),
    judge: () => {
      throw new Error('ours');
    },
    apply: () => {
      throw new Error('ours');
    },
  } as never;
  const { gear } = supervised();
  gear.addControl(broken);
  const task = gear.startTask();
  const ran: string[] = [];
  const search = gear.guard('search', () => ran.push('search'));
  assert.equal(task.observe({ type: 'heartbeat' }), undefined);
  assert.equal(refusalOf(task.run(() => search()))?.code, 'internal_error');
  assert.deepEqual(ran, []);
  assert.equal(gear.snapshot().internalErrors >= 2, true);
});
