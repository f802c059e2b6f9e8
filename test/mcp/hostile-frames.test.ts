/**
 * Random and hostile frames in both directions, split anywhere: nothing crashes, what is no call passes in order and
 * byte for byte, and no answer settles a call of another id. Memory stays small.
 */

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isWhole } from '../attacks/held/attempts.ts';
import { createRandom, makeFrame, type Random } from './hostile-frame.ts';
import { proxiedSession, turn } from './proxied-session.ts';

/** Pushes bytes in pieces of random sizes. */
function pushSplit(bytes: Buffer, { below }: Random, push: (part: Buffer) => void) {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + below(below(4) === 0 ? 7 : 20_000);
    push(bytes.subarray(at, at + size));
    at += size;
  }
}

test('hostile frames that are no calls pass in order and byte for byte, in both directions', async () => {
  const random = createRandom(20_261_116);
  const rounds = isWhole ? 500 : 20;
  for (let round = 0; round < rounds; round++) {
    const proxy = proxiedSession();
    await proxy.open();
    const before = proxy.server.text.length;
    const frames = Array.from({ length: 200 }, () => makeFrame(random));
    const fromClient = Buffer.from(`${frames.join('\n')}\n`, 'latin1');
    const fromServer = Buffer.from(`${frames.toReversed().join('\n')}\n`, 'latin1');
    pushSplit(fromClient, random, proxy.fromClient);
    assert.ok(Buffer.concat(proxy.server.chunks).subarray(before).equals(fromClient), `to the server, round ${round}`);
    pushSplit(fromServer, random, proxy.fromServer);
    assert.ok(Buffer.concat(proxy.client.chunks).equals(fromServer), `to the client, round ${round}`);
    proxy.session.loseServer('The MCP server ended.');
    proxy.gear.dispose();
  }
});

test('of calls between hostile frames each gets its own answer once, and the breakers count them all', async () => {
  const random = createRandom(7);
  const proxy = proxiedSession({
    policy: { circuit_breaker: { failure_threshold: 100_000 }, task: { max_tool_calls: 'none' } },
  });
  await proxy.open();
  const count = isWhole ? 20_000 : 600;
  const open: number[] = [];
  let failures = 0;
  for (let n = 0; n < count; n++) {
    if (random.below(2) === 0) proxy.fromServer(Buffer.from('{"jsonrpc":"2.0","method":"notifications/message"}\n'));
    open.push(proxy.call(`tool${n % 7}`, { n, word: `w${random.below(1e9).toString(36)}` }).id);
    if (open.length > random.below(20)) {
      const [id = 0] = open.splice(random.below(open.length), 1);
      const isError = random.below(3) === 0;
      failures += isError ? 1 : 0;
      proxy.answer(id, {
        content: [{ type: 'text', text: `answer ${id} ${random.below(1e9).toString(36)}` }],
        isError,
      });
    }
    if (n % 50 === 0) await turn();
  }
  const stats = Array.from({ length: 7 }, (_, n) => proxy.gear.breaker(`mcp__docs__tool${n}`).stats);
  const sum = (name: 'totalFailures' | 'totalSuccesses' | 'inFlight') =>
    stats.reduce((all, each) => all + each[name], 0);
  assert.deepEqual([sum('totalFailures'), sum('inFlight')], [failures, open.length]);
  assert.equal(sum('totalSuccesses'), count - failures - open.length);
  assert.equal(proxy.server.frames.filter(({ method }) => method === 'tools/call').length, count);
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('messages of 50 MB pass without being held', async () => {
  let written = 0;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.length;
      done();
    },
  });
  const proxy = proxiedSession({}, 'docs', { client: sink, server: sink });
  await proxy.open();
  written = 0;
  const part = Buffer.alloc(65_536, 0x61);
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  let peak = 0;
  for (const [head, push] of [
    ['{"jsonrpc":"2.0","id":1,"method":"vendor/large","params":"', proxy.fromClient],
    ['{"jsonrpc":"2.0","id":1,"result":"', proxy.fromServer],
  ] as const) {
    push(Buffer.from(head));
    for (let n = 0; n < 800; n++) {
      push(Buffer.from(part));
      if (n % 100 !== 99) continue;
      collectGarbage();
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
    }
    push(Buffer.from('"}\n'));
  }
  assert.equal(written, 2 * 800 * part.length + 58 + 34 + 6);
  assert.ok(peak < 32_000_000, `${peak} bytes`);
});
