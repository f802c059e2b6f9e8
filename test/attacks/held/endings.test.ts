/** Odd endings of a tool: thenables that lie, and thrown values that nothing can be read from. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { createSwitchgear, isRefused, refusalOf } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';
import { type Attempts, byForm, holdAll } from './attempts.ts';
import { cyclic, explosive, revoked, throwingGetters } from './odd-values.ts';

const gearOf = () => {
  const clock = simulatedClock();
  return { clock, gear: createSwitchgear({ agent: 'A', log: 'silent', env: {}, clock }) };
};

function errorWith(change: (error: Error) => void): Error {
  const error = new Error('odd');
  change(error);
  return error;
}

/** A refusal that a tool made up, with the keys of a real one. */
const forged = { error: 'x', circuit_open: true, agent_name: 'A', session_id: 's', remediation: 'none' };

const thrown: Attempts<() => unknown> = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['false', () => false],
  ['NaN', () => Number.NaN],
  ['an empty text', () => ''],
  ['a bigint', () => 1n],
  ['a symbol', () => Symbol('thrown')],
  ['a function', () => () => 1],
  ['a frozen error', () => Object.freeze(new Error('frozen'))],
  ['an object without a prototype', () => Object.create(null)],
  ['an explosive proxy', explosive],
  ['a revoked proxy', revoked],
  ['an object with throwing getters', throwingGetters],
  ['a cycle', cyclic],
  [
    'a cyclic cause',
    () =>
      errorWith((error) => {
        error.cause = error;
      }),
  ],
  [
    'a message that is no text',
    () =>
      errorWith((error) => {
        error.message = {} as string;
      }),
  ],
  [
    'a name that is no text',
    () =>
      errorWith((error) => {
        error.name = 1 as unknown as string;
      }),
  ],
  [
    'a stack that throws',
    () =>
      errorWith((error) => {
        Object.defineProperty(error, 'stack', {
          get: () => {
            throw new Error('stack');
          },
        });
      }),
  ],
  ['an error of another realm', () => runInNewContext('new TypeError("elsewhere")')],
  ['a huge message', () => new Error('m'.repeat(byForm(50_000_000, 1_000_000)))],
  [
    'an aggregate of itself',
    () => {
      const error = new AggregateError([], 'all');
      error.errors.push(error);
      return error;
    },
  ],
  ['a forged refusal', () => ({ ...forged })],
  ['an error that looks like a refusal', () => Object.assign(new Error('x'), { name: 'RefusedError', ...forged })],
  ['a status that is a proxy', () => Object.assign(new Error('x'), { status: explosive(), code: revoked() })],
  ['a Retry-After that is endless', () => Object.assign(new Error('x'), { retryAfter: Infinity })],
  [
    'a rejected promise',
    () => {
      const promise = Promise.reject(new Error('inner'));
      promise.catch(() => {});
      return promise;
    },
  ],
];

test('held: a thrown value is thrown on unchanged and counts once, whatever it is, sync and async', async (context) => {
  const ways = thrown.flatMap(([name, make]) =>
    [false, true].map((isAsync) => [`${name}, ${isAsync ? 'async' : 'sync'}`, { make, isAsync }] as const),
  );
  await holdAll(context, ways, async ({ make, isAsync }) => {
    const { gear } = gearOf();
    let ran = 0;
    const value = make();
    const tool = isAsync
      ? gear.guard('tool', async () => {
          ran++;
          throw value;
        })
      : gear.guard('tool', () => {
          ran++;
          throw value;
        });
    for (let call = 1; call <= 5; call++) {
      let caught: unknown = 'nothing was thrown';
      try {
        await tool();
      } catch (error) {
        caught = error;
      }
      assert.ok(Object.is(caught, value), `call ${call} threw another value`);
    }
    const { totalRequests, totalFailures, inFlight } = gear.breaker('tool').stats;
    assert.deepEqual([ran, totalRequests, totalFailures, inFlight], [5, 5, 5, 0]);
    const sixth: unknown = await tool();
    assert.ok(isRefused(sixth));
    assert.deepEqual([refusalOf(sixth)?.code, ran], ['circuit_open', 5]);
  });
});

type Then = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void;

/** A promise of a class that lies about its callbacks. */
class Lying extends Promise<unknown> {
  // biome-ignore lint/suspicious/noThenProperty: a lying thenable is the attack
  override then(): never {
    throw new Error('then lies');
  }
}

function lying(): Lying {
  const promise = new Lying((_, reject) => reject(new Error('x')));
  Promise.prototype.then.call(promise, undefined, () => {}); // Its rejection is handled.
  return promise;
}

const thenables: Attempts<{ readonly make: () => unknown; readonly ends: 'success' | 'failure' | 'timeout' }> = [
  ['settles at once', { make: () => thenable((resolve) => resolve('late')), ends: 'success' }],
  [
    'resolves twice',
    {
      make: () =>
        thenable((resolve) => {
          resolve(1);
          resolve(2);
        }),
      ends: 'success',
    },
  ],
  [
    'resolves, then rejects',
    {
      make: () =>
        thenable((resolve, reject) => {
          resolve(1);
          reject(2);
        }),
      ends: 'success',
    },
  ],
  [
    'rejects, then resolves',
    {
      make: () =>
        thenable((resolve, reject) => {
          reject(1);
          resolve(2);
        }),
      ends: 'failure',
    },
  ],
  [
    'resolves, then throws',
    {
      make: () =>
        thenable((resolve) => {
          resolve(1);
          throw new Error('x');
        }),
      ends: 'success',
    },
  ],
  [
    'throws',
    {
      make: () =>
        thenable(() => {
          throw new Error('x');
        }),
      ends: 'failure',
    },
  ],
  [
    'rejects twice',
    {
      make: () =>
        thenable((_, reject) => {
          reject(1);
          reject(2);
        }),
      ends: 'failure',
    },
  ],
  [
    'resolves with a rejecting one',
    {
      make: () => thenable((resolve) => resolve(Promise.reject(new Error('inner')))),
      ends: 'failure',
    },
  ],
  ['a lying subclass', { make: lying, ends: 'failure' }],
  ['never settles', { make: () => new Promise(() => {}), ends: 'timeout' }],
  ['never calls back', { make: () => thenable(() => {}), ends: 'timeout' }],
];

function thenable(then: Then): unknown {
  return { then };
}

test('held: a thenable settles its call once, however often it calls back', async (context) => {
  await holdAll(context, thenables, async ({ make, ends }) => {
    const { clock, gear } = gearOf();
    let ran = 0;
    const tool = gear.guard(
      'tool',
      async () => {
        ran++;
        return await (make() as Promise<unknown>);
      },
      { timeoutSecs: 5 },
    );
    const bare = gear.guard(
      'bare',
      () => {
        ran++;
        return make() as Promise<unknown>;
      },
      { timeoutSecs: 5 },
    );
    for (const [name, guarded] of [
      ['tool', tool],
      ['bare', bare],
    ] as const) {
      const before = ran;
      for (let call = 1; call <= 5; call++) {
        const pending = Promise.resolve(guarded()).then(
          () => 'fulfilled',
          () => 'rejected',
        );
        pending.catch(() => {});
        if (ends === 'timeout') await clock.elapse(6_000);
        assert.equal(await pending, ends === 'success' ? 'fulfilled' : 'rejected');
      }
      await clock.elapse(1);
      const { totalRequests, totalFailures, totalSuccesses } = gear.breaker(name).stats;
      assert.deepEqual([totalRequests, totalFailures + totalSuccesses], [5, 5]);
      assert.equal(totalFailures, ends === 'success' ? 0 : 5, `failures of ${name}`);
      if (ends !== 'success') assert.equal(refusalOf(await guarded())?.code, 'circuit_open');
      assert.equal(ran - before, 5);
    }
  });
});
