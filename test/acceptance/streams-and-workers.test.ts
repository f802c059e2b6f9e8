/** Clauses on the paths of generators, streams of Node, and workers that end with a fault of the request. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { checkCircuitBreaker, recordDelegationFailure } from '../../src/compat/index.ts';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/index.ts';

const quiet = { log: 'silent', env: {} } as const;

const broken: Readonly<Record<string, () => unknown>> = {
  'a generator': function* () {
    yield 'a piece';
    throw new Error('dead');
  },
  'an async generator': async function* () {
    yield 'a piece';
    throw new Error('dead');
  },
  'a stream of Node': () =>
    Readable.from(
      (function* () {
        yield 'a piece';
        throw new Error('dead');
      })(),
    ),
  'a promise of a generator': async () =>
    (function* () {
      yield 'a piece';
      throw new Error('dead');
    })(),
};

for (const [what, tool] of Object.entries(broken)) {
  test(`P2: ${what} that breaks while it is read is a failure`, async () => {
    const gear = createSwitchgear(quiet);
    let ran = 0;
    const read = gear.guard('read', () => {
      ran++;
      return tool();
    });
    for (let n = 0; n < 8; n++) {
      const pieces: unknown = await read();
      if (isRefused(pieces)) continue;
      await assert.rejects(async () => {
        for await (const piece of pieces as AsyncIterable<string>) assert.equal(piece, 'a piece');
      }, /dead/);
      await promisesSettled();
    }
    assert.deepEqual([ran, gear.breaker('read').state], [5, 'OPEN']);
  });
}

test('P3: a generator passes with its values, arguments and result', () => {
  const gear = createSwitchgear(quiet);
  const talk = gear.guard('talk', function* (first: string): Generator<string, string, string> {
    return `${yield first}!`;
  });
  const generator = talk('a');
  if (isRefused(generator)) throw new Error('refused');
  assert.deepEqual(generator.next(), { value: 'a', done: false });
  assert.deepEqual(generator.next('b'), { value: 'b!', done: true });
  for (const piece of talk('c') as Iterable<string>) {
    assert.equal(piece, 'c');
    break;
  }
  assert.deepEqual([gear.breaker('talk').stats.totalSuccesses, gear.breaker('talk').stats.inFlight], [2, 0]);
});

const readers: Readonly<Record<string, (stream: Readable) => Promise<unknown>>> = {
  iteration: async (stream) => {
    for await (const piece of stream) assert.equal(piece, 'a piece');
  },
  events: (stream) =>
    new Promise((_, reject) => {
      stream.on('error', reject);
      stream.on('data', () => {});
    }),
  'readable events': (stream) =>
    new Promise((_, reject) => {
      stream.on('error', reject);
      stream.on('readable', () => void stream.read());
    }),
};

for (const [way, consume] of Object.entries(readers)) {
  for (const pieces of [0, 1]) {
    test(`P25: a stream of Node that falls silent after ${pieces} pieces, read by ${way}, times out`, async () => {
      const clock = simulatedClock();
      const gear = createSwitchgear({ ...quiet, clock });
      const tail = gear.guard('tail', () => {
        const stream = new Readable({ objectMode: true, read() {} });
        for (let n = 0; n < pieces; n++) stream.push('a piece');
        return stream;
      });
      const stream = tail();
      if (isRefused(stream)) throw new Error('refused');
      const read = assert.rejects(consume(stream), /took longer than 30 s/);
      for (let n = 0; n < 10; n++) await promisesSettled();
      clock.advance(30_001);
      await read;
      assert.equal(gear.breaker('tail').stats.totalFailures, 1);
    });
  }
}

test('P25: a stream of Node that nobody reads, or whose reader paused, does not time out', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ ...quiet, clock });
  const tail = gear.guard('tail', () => new Readable({ objectMode: true, read() {} }));
  const [unread, paused] = [tail(), tail()];
  if (isRefused(unread) || isRefused(paused)) throw new Error('refused');
  paused.on('data', () => {});
  await promisesSettled();
  paused.pause();
  await promisesSettled();
  clock.advance(60_000);
  await promisesSettled();
  assert.deepEqual([unread.destroyed, paused.destroyed, gear.breaker('tail').stats.totalFailures], [false, false, 0]);
});

const faults: Readonly<Record<string, () => unknown>> = {
  'a thrown 404': () => {
    throw Object.assign(new Error('not found'), { status: 404 });
  },
  'a thrown 401': () => {
    throw Object.assign(new Error('who are you'), { status: 401 });
  },
  'arguments that do not fit': () => {
    throw Object.assign(new Error('city is missing'), { name: 'ZodError' });
  },
  '{ ok: false }': () => ({ ok: false }),
  'a Response with status 500': () => new Response('', { status: 500 }),
  'a Response with status 404': () => new Response('', { status: 404 }),
};

for (const [what, work] of Object.entries(faults)) {
  test(`D24: a worker that ends with ${what} has failed`, async () => {
    for (const run of [work, async () => work()]) {
      const gear = createSwitchgear({ ...quiet, session: 'talk' });
      const send = () => gear.delegate('chef_team', run).catch(() => {});
      await send();
      await gear.task({ session: 'talk' }, send);
      assert.deepEqual(gear.snapshot().delegations, { talk: { chef_team: 2 } });
    }
  });
}

test('D28: denied and cancelled work, and a good Response, is no failure of the worker', async () => {
  const gear = createSwitchgear({ ...quiet, session: 'talk' });
  for (const end of [
    new DOMException('stop', 'AbortError'),
    Object.assign(new Error('no'), { permission_denied: true }),
  ])
    await gear.delegate('chef_team', () => Promise.reject(end)).catch(() => {});
  await gear.delegate('chef_team', () => new Response('a list'));
  await gear.delegate('chef_team', () => ({ ok: false, kitchens: ['one'] }));
  assert.deepEqual(gear.snapshot().delegations, {});
});

test('D4: failures that are kept in a Map are read', () => {
  const state = { delegation_failures: new Map([['chef_team', 2]]) as never };
  assert.equal(checkCircuitBreaker(state, 'chef_team')[0], false);
  assert.deepEqual(recordDelegationFailure(state, 'chef_team', 'again', () => {}).delegation_failures, {
    chef_team: 3,
  });
});
