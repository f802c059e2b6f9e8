/** Processes that are killed in the middle of a call: what they counted stays, and nothing of them is left. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import { createPlace, isRunning, type ProxyPlace, ProxyProcess, until } from './proxy-process.ts';

function start(context: TestContext, place: ProxyPlace): ProxyProcess {
  const proxy = new ProxyProcess(place);
  context.after(() => proxy.child.kill('SIGKILL'));
  return proxy;
}

/** The newest process of the server. */
function findServer(place: ProxyPlace): number {
  const starts = ProxyProcess.readLog(place).filter((line) => line.startsWith('start '));
  return Number(starts.at(-1)!.slice('start '.length));
}

/** Each failure is counted by another proxy, which is killed when its client has the answer. */
async function failAndKill(context: TestContext, place: ProxyPlace, waitMs = 0): Promise<void> {
  for (let n = 1; n <= 5; n++) {
    const proxy = start(context, place);
    await proxy.initialize();
    assert.match((await proxy.call('fail', { n })).content[0]!.text, /^failed at/);
    void proxy.call('hang', { n }).catch(() => undefined);
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    proxy.child.kill('SIGKILL');
    await proxy.exited;
  }
  const next = start(context, place);
  await next.initialize();
  const refused = await next.call('fail', { n: 'sixth' });
  assert.equal(refused.structuredContent?.circuit_open, true, JSON.stringify(refused));
  next.end();
  await next.exited;
}

test('five failures of proxies that were killed after them open the breaker', { timeout: 60_000 }, async (context) => {
  const place = createPlace();
  context.after(place.clear);
  await failAndKill(context, place);
});

testWithRedis('the same on Redis, which is told within a moment', { timeout: 60_000 }, async (context) => {
  const redis = await startRedis();
  const place = { ...createPlace(), store: `${redis.url}?prefix=killed` };
  context.after(async () => {
    place.clear();
    await redis.stop();
  });
  await failAndKill(context, place, 200);
});

test('a server that is killed in five calls opens its breaker for every proxy', {
  timeout: 60_000,
}, async (context) => {
  const place = createPlace();
  context.after(place.clear);
  const proxy = start(context, place);
  await proxy.initialize();
  for (let n = 1; n <= 5; n++) {
    const calls = () => ProxyProcess.readLog(place).filter((line) => line === 'call hang').length;
    const hanging = proxy.call('hang', { n });
    await until(() => calls() === n, 'the call');
    process.kill(findServer(place), 'SIGKILL');
    assert.match((await hanging).content[0]!.text, /ended by SIGKILL/);
    if (n < 5) assert.equal((await proxy.request('vendor/alive')).error, undefined, 'it is started again');
  }
  const other = start(context, place);
  await other.initialize();
  const refused = await other.call('echo');
  assert.equal(refused.structuredContent?.circuit_open, true, JSON.stringify(refused));
  const server = findServer(place);
  for (const each of [proxy, other]) each.end();
  await Promise.all([proxy.exited, other.exited]);
  await until(() => !isRunning(server), 'the end of the server');
});
