/** What hooks, runs, chains and the MCP proxy count: each in its own layer, and a call of a breaker once. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createChains } from '../../src/chains/run/chains.ts';
import { readStoredCounts } from '../../src/operator/counters.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { chainOf, counting } from '../chains/run/run-setup.ts';
import { createPlace, ProxyProcess } from '../cli/mcp/proxy-process.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { bash, newSession, writeRunAround } from './hook-session.ts';

async function readCounts(place: string) {
  const store = sqliteStore({ path: place.slice('sqlite:'.length) });
  const counts = await readStoredCounts(store);
  store.close();
  return counts!;
}

test('hooks count decisions, outcomes and trips with the transaction of their session', async (context) => {
  const session = newSession();
  context.after(session.clear);
  for (let at = 0; at < 3; at++) {
    const { pre, post } = bash(`c${at}`, `ls ${at}`);
    await session.send(pre);
    await session.send(post);
  }
  const { pre, failure } = bash('f', 'make');
  await session.send(pre);
  await session.send(failure);
  const { decision, breaker } = await readCounts(session.store);
  assert.equal(decision.get('hook')!.allow, 4);
  const { successes, failures, refusals } = breaker.get('Bash')!;
  assert.deepEqual({ successes, failures, refusals }, { successes: 3, failures: 1, refusals: 0 });
});

test('hooks under a run leave the calls of breakers to the run', async (context) => {
  const session = newSession();
  context.after(session.clear);
  writeRunAround(session, 'run-1');
  const env = { SWITCHGEAR_TASK: 'run-1' };
  await session.send(bash('c1', 'ls').pre, env);
  await session.send(bash('c1', 'ls').post, env);
  const { decision, breaker } = await readCounts(session.store);
  assert.equal(decision.get('hook')!.allow, 1);
  assert.equal(breaker.get('Bash')?.successes ?? 0, 0);
});

test('the MCP proxy counts the calls of its client', async (context) => {
  const place = createPlace();
  context.after(place.clear);
  const proxy = new ProxyProcess(place);
  context.after(() => proxy.child.kill('SIGKILL'));
  await proxy.initialize();
  await proxy.call('echo');
  await proxy.call('echo');
  proxy.end();
  await proxy.exited;
  const { decision } = await readCounts(place.store);
  assert.equal(decision.get('mcp')?.allow, 2);
  assert.equal(decision.get('library')?.allow ?? 0, 0);
});

const home = createTestHome();
after(() => home.clear());

test('a run counts the calls of its agent and its halt', async () => {
  await home.run(['run', '--', 'claude', '-p', 'spiral']);
  const { decision, breaker, code } = await readCounts(home.store);
  const calls = decision.get('run')!.allow;
  assert.ok(calls >= 6 && calls <= 9, String(calls));
  const failures = [...breaker.values()].reduce((sum, each) => sum + each.failures, 0);
  assert.ok(failures === calls || failures === calls - 1, `${failures} of ${calls}: the last may not have ended`);
  assert.equal(
    [...code.values()].reduce((sum, { halts }) => sum + halts, 0),
    1,
  );
  assert.equal(decision.get('hook')!.allow, 0);
});

test('a chain counts its steps', async (context) => {
  const session = newSession();
  context.after(session.clear);
  const store = sqliteStore({ path: session.store.slice('sqlite:'.length) });
  const chains = createChains({
    abilities: [counting({ price: () => 1, buy: () => 2 })],
    store,
    log: 'silent',
    env: {},
  });
  assert.equal((await chains.run(chainOf(['price', 'buy']))).status, 'done');
  store.close();
  const { decision, breaker } = await readCounts(session.store);
  assert.ok(decision.get('chain')!.allow >= 2);
  assert.equal(decision.get('library')!.allow, 0);
  assert.equal(breaker.get('price')!.successes, 1);
});
