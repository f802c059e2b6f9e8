/** A halt and a timeout end calls that are out, and the process waits for them. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSwitchgear, isRefused, refusalOf } from '../../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../../src/testing/index.ts';

const hang = () => new Promise<string>(() => {});
const limits = { maxDurationSecs: 2 };

function stage() {
  const clock = simulatedClock();
  return { clock, gear: createSwitchgear({ clock, log: 'silent', env: {} }) };
}

test('a guarded call that hangs ends when its task runs out of time, with the refusal of the halt', async () => {
  const { clock, gear } = stage();
  let aborted = false;
  const call = gear.guard('hang', () => {
    gear.currentCall()?.signal.addEventListener('abort', () => {
      aborted = true;
    });
    return hang();
  });
  const running = gear.task({ limits }, async () => call());
  await clock.elapse(4_000);
  const result = await running;
  assert.equal(result.status, 'halted');
  assert.ok(isRefused(result.value));
  assert.equal(refusalOf(result.value)?.code, 'duration_limit');
  assert.ok(aborted);
  assert.equal(gear.breaker('hang').stats.totalFailures, 0);
});

test('calls that run beside the call that halts their task return their results', async () => {
  const { clock, gear } = stage();
  const slow = gear.guard('slow', async (at: number) => {
    await new Promise<void>((resolve) => void clock.after(50, resolve));
    return at;
  });
  const running = gear.task({ limits: { maxToolCalls: 2 } }, () => Promise.all([slow(1), slow(2), slow(3)]));
  await clock.elapse(100);
  const result = await running;
  assert.equal(result.status, 'halted');
  assert.deepEqual(result.value?.slice(0, 2), [1, 2]);
});

for (const [title, make] of [
  ['an async generator', () => endless()],
  ['a web stream', () => ReadableStream.from(endless())],
] as const) {
  test(`${title} without end is cut when its task runs out of time`, async () => {
    const { clock, gear } = stage();
    let isClosed = false;
    const stream = gear.guard('stream', () => {
      gear.currentCall()?.signal.addEventListener('abort', () => {
        isClosed = true;
      });
      return make();
    });
    let chunks = 0;
    const running = gear.task({ limits }, async () => {
      for await (const _ of stream() as AsyncIterable<number>) {
        chunks++;
        await clock.elapse(500);
      }
    });
    await running.then(({ status }) => assert.equal(status, 'halted'));
    assert.ok(chunks >= 3 && chunks < 20, `${chunks} chunks`);
    assert.ok(isClosed);
    assert.equal(gear.breaker('stream').stats.inFlight, 0);
  });

  test(`P2: ${title} that falls silent times out, and its breaker opens`, async () => {
    const { clock, gear } = stage();
    const silent = gear.guard('silent', () => (title === 'a web stream' ? new ReadableStream() : stuck()), {
      timeoutSecs: 3,
    });
    for (let at = 0; at < 5; at++) {
      const read = (async () => {
        for await (const _ of silent() as AsyncIterable<number>);
      })();
      const rejected = assert.rejects(read, { name: 'TimeoutError' });
      await clock.elapse(4_000);
      await rejected;
    }
    assert.equal(gear.breaker('silent').state, 'OPEN');
    assert.ok(isRefused(silent()));
  });
}

async function* endless(): AsyncGenerator<number> {
  for (let at = 0; ; at++) {
    await promisesSettled();
    yield at;
  }
}

async function* stuck(): AsyncGenerator<number> {
  yield 1;
  await hang();
}

test('a guarded web stream keeps its identity, its class and its readers of bytes', async () => {
  class NumberedStream extends ReadableStream<Uint8Array> {
    readonly number = 7;
  }
  const { gear } = stage();
  const make = () => {
    let left = 3;
    const pull = (controller: ReadableByteStreamController) => {
      if (left-- > 0) controller.enqueue(new Uint8Array([left]));
      else {
        controller.close();
        controller.byobRequest?.respond(0);
      }
    };
    return new NumberedStream({ type: 'bytes', pull } as object);
  };
  const guarded = gear.guard('bytes', make);
  const stream = guarded() as NumberedStream;
  assert.ok(stream instanceof NumberedStream);
  assert.equal(stream.number, 7);
  const reader = stream.getReader({ mode: 'byob' });
  for (;;) {
    const { done } = await reader.read(new Uint8Array(8));
    if (done) break;
  }
  const parts = (guarded() as NumberedStream).tee();
  for (const part of parts) {
    assert.ok(part.getReader({ mode: 'byob' }));
  }
  assert.equal((await new Response(guarded() as NumberedStream).arrayBuffer()).byteLength, 3);
  const piped = (guarded() as NumberedStream).pipeThrough(new TransformStream());
  let length = 0;
  for await (const chunk of piped) length += chunk.byteLength;
  assert.equal(length, 3);
  await promisesSettled();
  assert.equal(gear.breaker('bytes').stats.totalSuccesses, 3);
  gear.dispose();
});

test('an iterable that many calls return is wrapped once, and each call settles', async () => {
  const { gear } = stage();
  const shared = {
    async *[Symbol.asyncIterator]() {
      yield 1;
    },
  };
  const guarded = gear.guard('shared', () => shared);
  let iterate: unknown;
  for (let at = 0; at < 50; at++) {
    for await (const _ of guarded() as typeof shared);
    iterate ??= shared[Symbol.asyncIterator];
    assert.equal(shared[Symbol.asyncIterator], iterate);
  }
  assert.equal(gear.breaker('shared').stats.totalSuccesses, 50);
});

const endings: Readonly<Record<string, (stream: AsyncGenerator<number>) => Promise<void>>> = {
  'breaks off': async (stream) => {
    await stream.next();
    await stream.throw(new Error('the line broke')).catch(() => {});
  },
  'is cancelled': async (stream) => void (await stream.return(0)),
  'is left after a chunk': async (stream) => {
    for await (const _ of stream) break;
  },
};

for (const [title, end] of Object.entries(endings)) {
  test(`a stream that ${title} without usage costs what was reserved, marked as estimated`, async () => {
    const { gear } = stage();
    const model = gear.guard('model', endless, {
      kind: 'model',
      maxCost: { usd: 0.5, tokens: 1_000 },
      usage: () => undefined as never,
    });
    const task = gear.startTask();
    const stream = task.run(() => model()) as AsyncGenerator<number>;
    await end(stream);
    const { spendUsd, estimatedUsd, tokens } = task.snapshot();
    assert.deepEqual([spendUsd, estimatedUsd, tokens], [0.5, 0.5, 1_000]);
    task.end();
  });
}

const programs: Readonly<Record<string, string>> = {
  guard: `await gear.guard('hang', hang, { timeoutSecs: 0.2 })().catch((error) => console.log(error.name));`,
  run: `await Promise.resolve(gear.run('hang', hang, { timeoutSecs: 0.2 })).catch((error) => console.log(error.name));`,
  'a generator': `
    try { for await (const _ of gear.guard('silent', async function* () { await hang(); }, { timeoutSecs: 0.2 })()); }
    catch (error) { console.log(error.name); }`,
  'a task': `
    const call = gear.guard('hang', hang, { timeoutSecs: 'none' });
    const { halt } = await gear.task({ limits: { maxDurationSecs: 1 } }, () => call());
    console.log(halt.code === 'duration_limit' ? 'TimeoutError' : halt.code);`,
  'a task without a call': `
    const { halt } = await gear.task({ limits: { maxDurationSecs: 1 } }, hang);
    console.log(halt.code === 'duration_limit' ? 'TimeoutError' : halt.code);`,
  breaker: `
    const breaker = createBreaker({ name: 'x', timeoutSecs: 0.2 });
    await breaker.execute(hang).catch((error) => console.log(error.name));`,
};

for (const [title, program] of Object.entries(programs)) {
  test(`a program that waits for a hung call gets the timeout of ${title}, and does not exit with code 13`, () => {
    const file = join(mkdtempSync(join(tmpdir(), 'hung-')), 'main.ts');
    const at = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);
    writeFileSync(
      file,
      `import { createSwitchgear } from ${at('index.ts')};
       import { createBreaker } from ${at('breaker.ts')};
       const gear = createSwitchgear({ log: 'silent', env: {} });
       const hang = () => new Promise(() => {});
       ${program}
       void createBreaker;`,
    );
    const { stdout, stderr, status } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.equal(stdout, 'TimeoutError\n');
  });
}

test('a program whose calls are back ends at once, and an open stream that nobody reads does not hold it', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'back-')), 'main.ts');
  const index = JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href);
  writeFileSync(
    file,
    `import { createSwitchgear } from ${index};
     const gear = createSwitchgear({ log: 'silent', env: {} });
     await gear.guard('quick', () => new Promise((resolve) => setTimeout(resolve, 20)), { timeoutSecs: 3_000 })();
     gear.guard('stream', async function* () { yield 1; }, { timeoutSecs: 3_000 })();
     gear.startTask();
     console.log('back');`,
  );
  const { stdout, status, signal } = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 30_000 });
  assert.deepEqual([stdout, status, signal], ['back\n', 0, null]);
});
