/** A silent server is asked by ping, in sessions of the older protocol, and only where it matters. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Frame, proxiedSession, type SessionSetup } from './proxied-session.ts';

type Proxy = ReturnType<typeof proxiedSession>;

const modern = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
const pingsOf = ({ server }: Proxy): readonly Frame[] => server.frames.filter(({ method }) => method === 'ping');

function initialize(proxy: Proxy) {
  proxy.fromClient({ jsonrpc: '2.0', id: 'i', method: 'initialize', params: {} });
  proxy.fromServer({ jsonrpc: '2.0', id: 'i', result: { capabilities: { tools: {} } } });
}

/** A session whose calls may take long, as those of the command. */
async function legacySession(setup: SessionSetup = { policy: { circuit_breaker: { timeout_secs: 600 } } }) {
  const proxy = proxiedSession(setup);
  initialize(proxy);
  await proxy.open();
  return proxy;
}

test('P28: a server that is silent for 30 s during a call is asked by ping, whose answer stays here', async () => {
  const proxy = await legacySession();
  const { id } = proxy.call('slow');
  proxy.clock.advance(29_000);
  assert.deepEqual(pingsOf(proxy), []);
  proxy.clock.advance(1_000);
  const [ping] = pingsOf(proxy);
  assert.match(String(ping?.id), /^switchgear-/);
  const before = proxy.client.text;
  proxy.fromServer({ jsonrpc: '2.0', id: ping!.id, result: {} });
  assert.equal(proxy.client.text, before);
  proxy.clock.advance(29_000);
  assert.equal(pingsOf(proxy).length, 1);
  proxy.clock.advance(1_000);
  assert.equal(pingsOf(proxy).length, 2, 'asked again after another 30 s');
  proxy.succeed(id);
  assert.ok(proxy.got(id));
  proxy.fromServer({ jsonrpc: '2.0', id: pingsOf(proxy)[1]!.id, result: {} });
  assert.equal(proxy.client.text.includes('switchgear-'), false, 'a late answer is not passed on either');
  assert.equal(proxy.gear.breaker('mcp__docs').stats.consecutiveFailures, 0);
});

test('P28: the policy sets the interval', async () => {
  const proxy = await legacySession({ policy: { circuit_breaker: { health_check_interval_secs: 5 } } });
  proxy.call('slow');
  proxy.clock.advance(5_000);
  assert.equal(pingsOf(proxy).length, 1);
});

test('P27: enable_health_check = false asks no server', async () => {
  const proxy = await legacySession({ policy: { circuit_breaker: { enable_health_check: false } } });
  proxy.call('slow');
  proxy.clock.advance(300_000);
  assert.deepEqual(pingsOf(proxy), []);
});

test('P27: any line of the server is a sign of life, and without an open call nothing is asked', async () => {
  const proxy = await legacySession();
  const { id } = proxy.call('slow', {}, { _meta: { progressToken: 1 } });
  for (let n = 0; n < 5; n++) {
    proxy.clock.advance(20_000);
    proxy.fromServer({ jsonrpc: '2.0', method: 'notifications/message', params: { n } });
  }
  assert.deepEqual(pingsOf(proxy), []);
  proxy.succeed(id);
  proxy.clock.advance(600_000);
  assert.deepEqual(pingsOf(proxy), []);
});

test('P27: no ping before the handshake of the client has ended, and none in the newer protocol', async () => {
  const without = proxiedSession();
  without.fromClient({ jsonrpc: '2.0', id: 'l', method: 'tools/list' });
  await new Promise((resolve) => setImmediate(resolve));
  without.call('slow');
  without.clock.advance(120_000);
  assert.deepEqual(pingsOf(without), []);
  const newer = proxiedSession();
  await newer.open();
  newer.call('slow', {}, modern);
  newer.clock.advance(120_000);
  assert.deepEqual(pingsOf(newer), []);
  const both = await legacySession();
  both.call('slow', {}, modern);
  both.call('slow', { n: 2 });
  both.clock.advance(120_000);
  assert.deepEqual(pingsOf(both), [], 'a client that uses the newer protocol is left alone');
});

test('P27: pings that are not answered count for the server, which is then called no more', async () => {
  const proxy = await legacySession();
  const { id } = proxy.call('slow');
  proxy.clock.advance(30_000);
  for (let n = 0; n < 5; n++) proxy.clock.advance(30_000);
  assert.equal(pingsOf(proxy).length, 1, 'one ping is enough');
  assert.equal(proxy.gear.breaker('mcp__docs').state, 'OPEN');
  assert.equal(proxy.call('other').isPassed, false);
  assert.deepEqual(proxy.reports, ['The MCP server did not answer a ping for 30 s.']);
  proxy.succeed(id);
  assert.ok(proxy.got(id), 'the call that waits may still end well');
});

test('P27: at a half-open breaker a ping is the probe, and two answers close it', async () => {
  const proxy = await legacySession();
  for (let n = 0; n < 5; n++) {
    proxy.call('one', { n });
    proxy.session.loseServer('The MCP server ended.');
  }
  assert.equal(proxy.gear.breaker('mcp__docs').state, 'OPEN');
  const before = pingsOf(proxy).length;
  proxy.clock.advance(30_000);
  assert.equal(pingsOf(proxy).length, before, 'no ping while the breaker is open');
  for (let n = 1; n <= 2; n++) {
    const known = pingsOf(proxy).length;
    for (let wait = 0; wait < 4 && pingsOf(proxy).length === known; wait++) proxy.clock.advance(30_000);
    const ping = pingsOf(proxy)[known];
    assert.ok(ping, `ping ${n}`);
    proxy.fromServer({ jsonrpc: '2.0', id: ping.id, result: {} });
  }
  assert.equal(proxy.gear.breaker('mcp__docs').state, 'CLOSED');
  assert.equal(proxy.client.text.includes('"result":{}}'), false);
});

test('the tools of a server that was started again are compared with those before', async () => {
  const proxy = await legacySession({ policy: { mcp: { onToolChange: 'refuse' } } });
  proxy.fromClient({ jsonrpc: '2.0', id: 'l', method: 'tools/list' });
  proxy.fromServer({ jsonrpc: '2.0', id: 'l', result: { tools: [{ name: 'a' }, { name: 'b' }] } });
  proxy.session.readRestart();
  const asked = proxy.server.frames.at(-1);
  assert.match(`${asked?.id} ${asked?.method}`, /^switchgear-\S+ tools\/list$/);
  const before = proxy.client.text;
  proxy.fromServer({ jsonrpc: '2.0', id: asked!.id, result: { tools: [{ name: 'a' }, { name: 'b', title: 'x' }] } });
  assert.equal(proxy.client.text, before);
  assert.equal(proxy.gear.cards.list().length, 1);
  assert.deepEqual([proxy.call('a').isPassed, proxy.call('b').isPassed], [true, false]);
});
