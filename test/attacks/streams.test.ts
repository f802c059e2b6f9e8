/** Streams that break in the middle, or that nobody reads, behind a guarded function. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

async function* generate(chunks: number, error?: Error): AsyncGenerator<number> {
  for (let at = 0; at < chunks; at++) yield at;
  if (error !== undefined) throw error;
}

function webStream(chunks: number, error?: Error): ReadableStream<number> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at++ < chunks) controller.enqueue(at);
      else if (error !== undefined) controller.error(error);
      else controller.close();
    },
  });
}

const iterable = (chunks: number, error?: Error): AsyncIterable<number> => ({
  [Symbol.asyncIterator]: () => generate(chunks, error),
});

type Make = (chunks: number, error?: Error) => AsyncIterable<number> | Promise<AsyncIterable<number>>;

const kinds: Readonly<Record<string, Make>> = {
  'an async generator': generate,
  'an async generator of an async function': async (chunks, error) => generate(chunks, error),
  'an async iterable': iterable,
  'a web stream': webStream,
  'a web stream of an async function': async (chunks, error) => webStream(chunks, error),
  'a stream of Node': (chunks, error) => Readable.from(generate(chunks, error)),
};

async function read(stream: AsyncIterable<number>): Promise<number> {
  let chunks = 0;
  for await (const _ of stream) chunks++;
  return chunks;
}

const broken = new Error('the line broke');
const turn = () => new Promise((resolve) => setImmediate(resolve));

for (const [name, make] of Object.entries(kinds)) {
  test(`attack 20: ${name} that breaks in the middle is a failure, and opens the breaker`, async () => {
    const gear = createSwitchgear();
    const guarded = gear.guard('stream', make);
    for (let at = 0; at < 5; at++) {
      const stream = (await guarded(3, broken)) as AsyncIterable<number>;
      await assert.rejects(read(stream), broken);
      await turn();
    }
    const { state, stats } = gear.breaker('stream');
    assert.deepEqual([state, stats.inFlight], ['OPEN', 0]);
    assert.ok('error' in ((await guarded(3)) as object), 'the sixth call is refused');
    gear.dispose();
  });

  test(`attack 20: ${name} that ends counts once, as a success, when it ends`, async () => {
    const gear = createSwitchgear();
    const guarded = gear.guard('stream', make);
    const stream = (await guarded(4)) as AsyncIterable<number>;
    assert.equal(gear.breaker('stream').stats.inFlight, 1, 'the slot is held until the end');
    assert.equal(await read(stream), 4);
    await turn();
    assert.equal(gear.breaker('stream').stats.inFlight, 0);
    assert.equal(gear.breaker('stream').state, 'CLOSED');
    gear.dispose();
  });
}

test('attack 20: a reader that stops early frees the slot and is no failure', async () => {
  const gear = createSwitchgear();
  for (const [name, make] of Object.entries(kinds)) {
    const stream = (await gear.guard(name, make)(9, broken)) as AsyncIterable<number>;
    for await (const _ of stream) break;
    await turn();
    assert.deepEqual([gear.breaker(name).stats.inFlight, gear.breaker(name).state], [0, 'CLOSED'], name);
  }
  gear.dispose();
});

test('attack 20: a stream that nobody reads does not hold its slot for ever', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock });
  for (const [name, make] of Object.entries(kinds)) await gear.guard(name, make)(3);
  await clock.advance(3_600_000);
  for (const name of Object.keys(kinds)) assert.equal(gear.breaker(name).stats.inFlight, 0, name);
  gear.dispose();
});

test('attack 20: a generator that a host settles with counts when it ends', async () => {
  const gear = createSwitchgear();
  for (let at = 0; at < 5; at++) {
    const admission = gear.admit('host', []);
    assert.equal(admission.refused, undefined);
    const stream = generate(2, broken);
    if (admission.refused === undefined) admission.settle({ value: stream });
    await assert.rejects(read(stream), broken);
  }
  assert.equal(gear.breaker('host').state, 'OPEN');
  gear.dispose();
});

test('attack 20: the usage of a stream is read at its end, and its result is the same object', async () => {
  const gear = createSwitchgear();
  const stream = Object.assign(generate(2), { tokens: 0 });
  const guarded = gear.guard('model', () => stream, {
    usage: (value) => ({ model: 'claude-sonnet-4', inputTokens: value.tokens, outputTokens: 0 }),
  });
  const { spent, same } = await gear
    .task({}, async (task) => {
      const given = guarded();
      for await (const _ of given as AsyncIterable<number>) stream.tokens += 1_000;
      return { spent: task.snapshot().tokens, same: given === stream };
    })
    .then((result) => (result.status === 'done' ? result.value : assert.fail(result.status)));
  assert.deepEqual([spent, same], [2_000, true]);
  gear.dispose();
});
