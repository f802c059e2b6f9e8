import assert from 'node:assert/strict';
import test from 'node:test';
import {
  describeEffect,
  describeOrder,
  describeScope,
  folderOf,
  stateLooks,
  sumOf,
} from '../../dashboard/src/logic/breaker-words.ts';
import { describeTaskEffect, isWaiting, listUsages } from '../../dashboard/src/logic/task-words.ts';
import type { ActiveBreaker } from '../../src/operator/board/answers.ts';

function breaker(state: ActiveBreaker['state'], isHeld = false): ActiveBreaker {
  const counts = { failures: 0, inARow: 0, trips: 0, tripsPerHour: 0, generation: 1, openMs: 0, cause: '' };
  const probes = { inFlight: 0, succeeded: 0 };
  return { key: 'k', name: 'search', scope: 'agent', of: 'r', project: 'shop', state, held: isHeld, ...counts, probes };
}

test('each state of a breaker has a word, an icon and a tone of its own', () => {
  const looks = [breaker('OPEN'), breaker('HALF_OPEN'), breaker('CLOSED'), breaker('OPEN', true)].map(stateLooks);
  assert.deepEqual(
    looks.map(({ word }) => word),
    ['Open', 'Half-open', 'Closed', 'Held open'],
  );
  assert.equal(new Set(looks.map(({ icon }) => icon)).size, 4);
  assert.equal(describeScope(breaker('OPEN')), 'agent r, project shop');
  assert.equal(describeScope({ scope: 'all', of: '', project: '' }), 'shared by all');
  const lastOrder = { order: 'hold', by: 'ann', reason: 'down', wallMs: 1 } as const;
  assert.equal(describeOrder({ state: 'OPEN', lastOrder }), 'held by ann: down');
  assert.equal(
    describeOrder({ state: 'OPEN', lastOrder: { ...lastOrder, order: 'trip', reason: '' } }),
    'tripped by ann',
  );
  assert.equal(describeOrder({ state: 'CLOSED', lastOrder }), '');
  assert.deepEqual([sumOf(undefined), sumOf([1, 2])], [0, 3]);
});

test('the effect of an order is what the store says', () => {
  assert.equal(describeEffect('search', [breaker('CLOSED')]), 'search is now closed.');
  assert.equal(
    describeEffect('search', [breaker('OPEN', true), breaker('OPEN', true)]),
    '2 breakers of search are now held open.',
  );
  assert.equal(describeEffect('search', [breaker('OPEN'), breaker('CLOSED')]), 'search: 1 open, 1 closed.');
  assert.match(describeEffect('search', []), /created later/);
  const ordered = (acknowledged: readonly string[], silent: readonly string[]) =>
    ({ effect: { status: 'ordered', acknowledged, silent } }) as const;
  const paused = { id: 'x', agent: 'a', session: 's', state: 'paused', startedWallMs: 0, ageMs: 0 } as const;
  assert.equal(describeTaskEffect('x', 'pause', { ...ordered(['x'], []), task: paused }), 'x is now paused.');
  assert.match(describeTaskEffect('x', 'halt', ordered([], ['x'])), /has not acknowledged/);
  const ended = { effect: { status: 'ended', ended: 2, surviving: [7] } } as const;
  assert.match(describeTaskEffect('x', 'halt', ended), /2 of its processes were ended\. These still run: 7/);
});

test('usages stand against their limits; a limit that is off, and a usage that is unknown, are left out', () => {
  const used = { toolCalls: 3, maxToolCalls: Number.MAX_SAFE_INTEGER, spendCents: 4, maxSpendCents: 500, tokens: 9 };
  assert.deepEqual(listUsages({ used: { ...used, durationMs: 5, maxDurationSecs: 60 } }), [
    { name: 'Calls', used: 3 },
    { name: 'Spend', used: 4, limit: 500, unit: 'cents' },
    { name: 'Tokens', used: 9 },
    { name: 'Duration', used: 5, unit: 'ms', limit: 60_000 },
    undefined,
  ]);
  assert.deepEqual(listUsages({}), [undefined, undefined, undefined, undefined, undefined]);
});

test('a project is named by its last folder', () => {
  assert.deepEqual(['/home/ann/shop', 'C:\\work\\shop\\', 'shop', ''].map(folderOf), ['shop', 'shop', 'shop', '']);
});

test('a task whose clocks stand still waits for a person, unless an order paused it or one above it', () => {
  const order = (target: string | null) => [{ target, reason: '' }];
  const paused = { id: 'a/b', state: 'paused' } as const;
  assert.equal(isWaiting(paused, []), true);
  assert.equal(isWaiting(paused, order('other')), true);
  for (const target of [null, 'a', 'a/b']) assert.equal(isWaiting(paused, order(target)), false);
  assert.equal(isWaiting({ id: 'a/b', state: 'running' }, []), false);
});
