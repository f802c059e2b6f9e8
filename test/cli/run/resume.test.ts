/** How a halted run goes on: through its card, in the process that waits or in another one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import { until } from '../../supervisor/processes.ts';
import { createTestHomes, openCard } from './run-cli.ts';

const home = createTestHomes();
const long = { timeout: 120_000 };
const sixty = ['run', '--quiet', '--', 'claude', '-p', 'calls 60'];

test('a retry resumes the conversation and keeps the counters', long, async () => {
  const here = home();
  assert.equal((await here.run(sixty)).code, 75);
  const { id } = await openCard(here);
  const { code, out } = await here.run(['inbox', 'retry', id, '--by', 'Ada']);
  assert.deepEqual([code, out], [0, 'done after 8 calls\n']);
  assert.deepEqual(here.startedCommands()[1]?.slice(-4), ['-p', 'Go on where you stopped.', '--resume', 'session-1']);
  const tail = (await here.run(['tail', '-n', '1000', '--json'])).out.trim().split('\n');
  const started = tail.map((line) => JSON.parse(line)).filter(({ type }) => type === 'task-started');
  assert.deepEqual(
    started.map(({ retryOf, limits }) => [retryOf, limits.maxToolCalls]),
    [
      [undefined, 50],
      [started[0].task, 100],
    ],
  );
  const again = await here.run(['inbox', 'retry', id]);
  assert.equal(again.code, 1);
  assert.match(again.err, /was answered already: retry_raised by .*Ada/);
});

test('after a subagent reached its limit, a retry raises the limit of the subagent', long, async () => {
  const here = home();
  const { err } = await here.run(['run', '--quiet', '--', 'claude', '-p', 'below 60']);
  assert.match(err, /halted claude-code \(.+\): tool calls: 51 of 50\n {2}calls 51 of 50/);
  const { id } = await openCard(here);
  const { code, err: again } = await here.run(['inbox', 'retry', id], { FAKE_RESUMED: 'below 60' });
  assert.equal(code, 0, again);
  const tail = (await here.run(['tail', '-n', '1000', '--json'])).out.trim().split('\n');
  const started = tail.map((line) => JSON.parse(line)).filter(({ type }) => type === 'task-started');
  assert.deepEqual(
    started.map(({ agent, limits }) => [agent, limits.maxToolCalls]),
    [
      ['claude-code', 50],
      ['Explore', 50],
      ['claude-code', 50],
      ['Explore', 100],
    ],
  );
});

test('a narrowed run starts again with the smaller request', long, async () => {
  const here = home();
  assert.equal((await here.run(sixty)).code, 75);
  const { id } = await openCard(here);
  assert.equal((await here.run(['inbox', 'narrow', id])).code, 2);
  const { code, out } = await here.run(['inbox', 'narrow', id, 'calls 20']);
  assert.deepEqual([code, out], [0, 'done after 20 calls\n']);
  assert.deepEqual(here.startedCommands()[1]?.slice(-2), ['-p', 'calls 20']);
});

test('a paused run waits with a new card and can be retried from that card', long, async () => {
  const here = home();
  assert.equal((await here.run(sixty)).code, 75);
  assert.equal((await here.run(['inbox', 'pause', (await openCard(here)).id])).code, 0);
  const paused = await openCard(here);
  assert.match(paused.evidence[0] ?? '', /claude-code is paused after tool call limit/);
  assert.deepEqual(paused.actions, ['retry_raised', 'narrow_scope', 'replan', 'dismiss']);
  assert.equal((await here.run(['inbox', 'retry', paused.id])).code, 0);
  assert.deepEqual(JSON.parse((await here.run(['inbox', 'list', '--json'])).out), []);
});

test('a dismissed run cannot be retried', long, async () => {
  const here = home();
  assert.equal((await here.run(sixty)).code, 75);
  const { id } = await openCard(here);
  assert.deepEqual(await here.run(['inbox', 'dismiss', id]), {
    code: 0,
    signal: null,
    out: `dismissed ${id}\n`,
    err: '',
  });
  const retry = await here.run(['inbox', 'retry', id]);
  assert.equal(retry.code, 1);
  assert.match(retry.err, /card-\S+ was answered already: dismiss by /);
});

test('a waiting process receives the answer and continues by itself', long, async () => {
  const here = home();
  const { finished, err, child } = here.start(['run', '--quiet', '--wait', '10m', ...sixty.slice(2)]);
  child.stdin.end();
  await until(() => err().includes('next:'));
  const { id } = await openCard(here);
  const told = await here.run(['inbox', 'narrow', id, 'calls 12']);
  assert.equal(told.out, `${id}: answered; the waiting process continues\n`);
  const { code, out } = await finished;
  assert.deepEqual([code, out], [0, 'done after 12 calls\n']);
});

// It is silent for one, two, four and eight seconds.
test('an agent that cannot resume starts again, for a limited number of retries', { timeout: 300_000 }, async () => {
  const here = home();
  const silent = ['run', '--quiet', '--max-idle', '1s', '--', 'sh', '-c', 'echo begun; sleep 600'];
  const first = await here.run(silent);
  assert.equal(first.code, 75);
  assert.match(first.err, /retry card-\S+, or pause, replan, dismiss\n/); // It has no request that could be narrowed.
  const limits: string[] = [];
  for (let raise = 1; raise <= 3; raise++) {
    const { code, out, err } = await here.run(['inbox', 'retry', (await openCard(here)).id]);
    assert.deepEqual([code, out], [75, 'begun\n']);
    limits.push(/silent for \d+ s of (\d+) s/.exec(err)?.[1] ?? '');
  }
  assert.deepEqual(limits, ['2', '4', '8']);
  const last = await openCard(here);
  assert.deepEqual(last.actions, ['pause', 'replan', 'dismiss']);
  assert.equal((await here.run(['inbox', 'retry', last.id])).code, 1);
});

testWithRedis('on Redis it is the same: halted here, narrowed there, lost and found', long, async () => {
  const server = await startRedis();
  const here = home();
  const on = ['--store', `${server.url}?prefix=runs`];
  const openCards = async () => JSON.parse((await here.run(['inbox', 'list', '--json', ...on])).out) as Card[];
  try {
    assert.equal((await here.run(['run', '--quiet', ...on, '--', 'claude', '-p', 'calls 60'])).code, 75);
    const [card] = await openCards();
    const { code, out } = await here.run(['inbox', 'narrow', card?.id ?? '', 'calls 20', ...on]);
    assert.deepEqual([code, out], [0, 'done after 20 calls\n']);

    const json = ['--output-format', 'stream-json'];
    const {
      child,
      finished,
      out: printed,
    } = here.start(['run', ...on, '--', 'claude', '-p', 'calls 3,silent', ...json]);
    await until(() => printed().includes('call-session-1-3'));
    // Its agent began before its store was asked: what Redis never heard of cannot be found.
    for (let looks = 0; !(await here.run(['status', ...on])).out.includes('claude-code'); looks++) {
      assert.ok(looks < 50, 'the run is nowhere to be seen');
    }
    child.kill('SIGKILL');
    await finished;
    assert.match((await here.run(['status', ...on])).out, /claude-code: its supervisor was killed/);
    const [lost] = await openCards();
    assert.equal((await here.run(['inbox', 'retry', lost?.id ?? '', ...on])).code, 0);
    assert.deepEqual(await openCards(), []);
  } finally {
    await server.stop();
  }
});
