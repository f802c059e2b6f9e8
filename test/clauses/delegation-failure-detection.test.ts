import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasInabilityPhrase } from '../../src/compat/index.ts';
import { supervised } from './supervised-gear.ts';

const cannot = 'I cannot list kitchens';
const says = (value: unknown) => () => value;

/** Failures booked after each of these returns. */
async function bookings(...returns: readonly (() => unknown)[]): Promise<number[]> {
  const { gear, failures } = supervised({ policy: { delegation: { max_failures: 100 } } });
  const seen: number[] = [];
  await gear.task({}, async () => {
    for (const run of returns) {
      await gear.delegate('chef_team', run as () => Promise<unknown>).catch(() => {});
      seen.push(failures());
    }
  });
  return seen;
}

test('D13: the last message of the worker is inspected for a limitation, and no other', async () => {
  const role = 'assistant';
  const last = {
    messages: [
      { role, content: 'Looking.' },
      { role, content: cannot },
    ],
  };
  const earlier = {
    messages: [
      { role, content: cannot },
      { role, content: 'Found them after all.' },
    ],
  };
  assert.deepEqual(await bookings(says(last), says(earlier)), [1, 1]);
});

test('D19: a text with "cannot" counts', async () => {
  assert.deepEqual(await bookings(says('I cannot list kitchens')), [1]);
});

test('D20: a text with "unable to" counts', async () => {
  assert.deepEqual(await bookings(says('Unable to complete the order')), [1]);
});

test('D21: a text with "don\'t have" counts', async () => {
  assert.deepEqual(await bookings(says("I don't have the ability to cook")), [1]);
});

test('D22: a text with "do not have ability" counts', async () => {
  assert.deepEqual(await bookings(says('I do not have ability to list kitchens')), [1]);
});

const literally = (text: string) => {
  const { gear, failures } = supervised({ policy: { preset: 'delegation' } });
  return gear.task({}, () => gear.delegate('chef_team', says(text))).then(() => failures());
};

test('D19: with the preset delegation, "cannot" counts in any sentence, as in compat', async () => {
  assert.equal(await literally('The oven cannot reach 300 degrees. The list is done.'), 1);
  assert.equal(hasInabilityPhrase('The oven cannot reach 300 degrees.'), true);
});

test('D20: with the preset delegation, "unable to" counts in any sentence, as in compat', async () => {
  assert.equal(await literally('Guests who were unable to pay are on the list.'), 1);
  assert.equal(hasInabilityPhrase('Guests who were unable to pay are on the list.'), true);
});

test('D21: with the preset delegation, "don\'t have" counts in any sentence, as in compat', async () => {
  assert.equal(await literally('Most kitchens don\u2019t have a tandoor.'), 1);
  assert.equal(hasInabilityPhrase("Most kitchens don't have a tandoor."), true);
});

test('D22: with the preset delegation, "do not have ability" counts in any sentence, as in compat', async () => {
  assert.equal(await literally('Apprentices do not have ability to bake.'), 1);
  assert.equal(hasInabilityPhrase('Apprentices do not have ability to bake.'), true);
});

test('D23: a worker that throws has failed, and its error comes through', async () => {
  const { gear, failures } = supervised();
  const boom = new Error('oven on fire');
  await gear.task({}, () =>
    assert.rejects(
      gear.delegate('chef_team', () => Promise.reject(boom)),
      boom,
    ),
  );
  assert.equal(failures(), 1);
});

test('D24: a returned error counts', async () => {
  const returns = [{ error: 'no such kitchen' }, { isError: true, content: [{ text: 'down' }] }, { status: 'error' }];
  assert.deepEqual(await bookings(...returns.map(says)), [1, 2, 3]);
});

test('D25: a worker that takes too long has failed, once', async () => {
  const { gear, clock, failures } = supervised();
  let signal: AbortSignal | undefined;
  const result = gear.task({}, (task) =>
    gear
      .delegate(
        'chef_team',
        (child) => {
          signal = child.signal;
          return new Promise((resolve) => clock.after(60_000, () => resolve(cannot)));
        },
        { timeoutSecs: 30 },
      )
      .then(
        () => 'came back',
        (error: Error) => `${error.name}, halted: ${task.halt !== undefined}`,
      ),
  );
  await clock.elapse(61_000);
  assert.deepEqual(await result.then((ended) => ended.status === 'done' && ended.value), 'TimeoutError, halted: false');
  assert.deepEqual([failures(), signal?.aborted], [1, true]);
});

test('D26: a worker that comes back with the task incomplete has failed', async () => {
  const half = { completed: false, text: 'half of the menu' };
  assert.deepEqual(await bookings(says(half), says({ status: 'incomplete' })), [1, 2]);
  const { gear, failures } = supervised();
  const judge = (menu: string) => ({ failed: !menu.includes('dessert'), reason: 'no dessert' });
  await gear.task({}, () => gear.delegate('chef_team', says('soup') as () => string, { judge }));
  assert.equal(failures(), 1);
});

test('D27: a worker that loops back with the same words for the same request has failed', async () => {
  const { gear, failures } = supervised();
  const ask = (request: string) => gear.delegate('chef_team', says('Back to the supervisor.'), { request });
  const seen: number[] = [];
  await gear.task({}, async () => {
    for (const request of ['list kitchens', 'list menus', 'list menus']) {
      await ask(request);
      seen.push(failures());
    }
  });
  assert.deepEqual(seen, [0, 0, 1]);
});

test('D28: a completion with valid data is not counted', async () => {
  assert.deepEqual(await bookings(says({ kitchens: ['North'] }), says(cannot), says('Here: North, South.')), [0, 1, 1]);
});

test('D29: a partial success without an error indicator is not counted', async () => {
  const partial = { status: 'partial', text: 'Two of three kitchens are listed.' };
  assert.deepEqual(await bookings(says(cannot), says(partial)), [1, 1]);
});

test('D29: a report of finished work with a phrase about something else is not counted', async () => {
  const reports = [
    'Root cause found: the parser cannot handle nested quotes. I rewrote tokenize() and all 42 tests pass.',
    'Fixed. Users who were unable to log in can log in again.',
    "Done. Guests who don't have a booking wait outside.",
  ];
  assert.deepEqual(await bookings(says(cannot), ...reports.map(says)), [1, 1, 1, 1]);
});

test('D30: delegating to another worker counts on that worker alone', async () => {
  const { gear, failures } = supervised({ policy: { delegation: { on_trip: 'deny' } } });
  await gear.task({}, async () => {
    for (let i = 0; i < 3; i++) await gear.delegate('chef_team', says(cannot));
    assert.equal(await gear.delegate('visualization', says('a chart')), 'a chart');
  });
  assert.deepEqual([failures('chef_team'), failures('visualization')], [2, 0]);
});
