/** Calls that do not run where their task is: pools made before it, timers, queues. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { createSwitchgear, isRefused, type Switchgear } from '../../../src/index.ts';
import { type Attempts, holdAll } from './attempts.ts';

type Work = () => Promise<unknown>;
type Pool = (work: Work) => Promise<unknown>;

/** A worker loop that was started before any task: its jobs run in its own context. */
function poolMadeBefore(): Pool {
  const queue: { work: Work; done: (value: unknown) => void }[] = [];
  const bell = new EventEmitter();
  void (async () => {
    for (;;) {
      const job = queue.shift();
      if (job === undefined) await new Promise((resolve) => bell.once('job', resolve));
      else job.done(await job.work());
    }
  })();
  return (work) =>
    new Promise((done) => {
      queue.push({ work, done });
      bell.emit('job');
    });
}

const insidePools: Attempts<Pool> = [
  ['a timer', (work) => new Promise((done) => setTimeout(async () => done(await work()), 1))],
  ['an immediate', (work) => new Promise((done) => setImmediate(async () => done(await work())))],
  ['a microtask', (work) => new Promise((done) => queueMicrotask(async () => done(await work())))],
  ['a promise chain', (work) => Promise.resolve().then(() => Promise.resolve().then(work))],
  [
    'an async generator',
    async (work) => {
      for await (const value of (async function* () {
        yield await work();
      })())
        return value;
      return undefined;
    },
  ],
];

async function callThrough(pool: Pool, gear: Switchgear): Promise<number> {
  const tool = gear.guard('tool', async (at: number) => at);
  let ran = 0;
  await gear.task({ limits: { maxToolCalls: 3 } }, async () => {
    for (let at = 0; at < 10; at++) if (!isRefused(await pool(() => tool(at) as Promise<unknown>))) ran++;
  });
  return ran;
}

test('held: a call keeps its task through timers, queues and generators', async (context) => {
  await holdAll(context, insidePools, async (pool) => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    assert.equal(await callThrough(pool, gear), 3);
  });
});

test('held: a call from a pool that is older than its task is told as a call without a task', async (context) => {
  await holdAll(context, [['a pool made before', poolMadeBefore()]], async (pool) => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    await callThrough(pool, gear);
    const missing = gear.journal().filter(({ type }) => type === 'task-missing');
    assert.equal(missing.length, 1, 'nobody is told');
    const tool = gear.guard('bound', async (at: number) => at);
    const task = gear.startTask({ limits: { maxToolCalls: 3 } });
    let ran = 0;
    for (let at = 0; at < 10; at++) {
      if (!isRefused(await pool(async () => task.run(() => tool(at))))) ran++;
    }
    assert.equal(ran, 3, 'task.run brings it back');
  });
});
