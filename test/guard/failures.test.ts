/** What counts as a failure, through every entry of the gear: docs/guides/failures.md. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { protect as protectFetch } from '../../src/adapters/fetch.ts';
import type { Entry } from '../../src/core/event.ts';
import { createSwitchgear, type Switchgear } from '../../src/index.ts';

/** A server that answers every request with one status. */
async function serve(context: TestContext, status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const newGear = (policy = {}): Switchgear => createSwitchgear({ agent: 'a', log: 'silent', policy });

test('P14: five responses with status 500 open the circuit, in and outside a task', async (context) => {
  const url = await serve(context, 500);
  for (const inTask of [false, true]) {
    const gear = newGear({ loop: { enabled: false } });
    const read = gear.guard('read', async () => fetch(url));
    const five = async () => {
      for (let n = 0; n < 5; n++) assert.equal(((await read()) as Response).status, 500);
    };
    await (inTask ? gear.task({}, five) : five());
    assert.equal(gear.breaker('read').state, 'OPEN');
  }
});

test('C14: eight answers with status 404 open no circuit: thrown, returned, or through fetch', async (context) => {
  const url = await serve(context, 404);
  const gear = newGear({ loop: { enabled: false } });
  const returned = gear.guard('returned', async () => fetch(url));
  const thrown = gear.guard('thrown', async () => {
    throw Object.assign(new Error('not found'), { status: (await fetch(url)).status });
  });
  const sync = gear.guard('sync', () => {
    throw Object.assign(new Error('not found'), { response: { status: 404 } });
  });
  const guardedFetch = protectFetch(fetch, { gear });
  for (let n = 0; n < 8; n++) {
    await returned();
    await assert.rejects(thrown() as Promise<unknown>, /not found/);
    assert.throws(sync, /not found/);
    assert.equal((await guardedFetch(url)).status, 404);
  }
  for (const { name, state } of Object.values(gear.snapshot().breakers)) assert.equal(state, 'CLOSED', name);
});

test('C12: a refused connection of fetch is a NetworkError', async () => {
  const gear = newGear();
  const failures: string[] = [];
  gear.on('failure-counted', ({ error }) => failures.push(error));
  const read = gear.guard('read', async () => fetch('http://127.0.0.1:9/'));
  await assert.rejects(read() as Promise<unknown>, /fetch failed/);
  assert.deepEqual(failures, ['NetworkError']);
});

test('C12: a tool that cannot be reached and is tried again after each wait is not taken for a loop', async () => {
  const { simulatedClock } = await import('../../src/testing/index.ts');
  const clock = simulatedClock();
  const gear = createSwitchgear({ agent: 'a', log: 'silent', clock });
  const read = gear.guard('read', () => {
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' }) });
  });
  const done = await gear.task({ limits: { maxDurationSecs: 3600, maxIdleSecs: 3600 } }, () => {
    for (let n = 0; n < 12; n++) {
      try {
        read();
      } catch {
        clock.advance(61_000);
      }
    }
  });
  assert.equal(done.status, 'done');
});

test('401 and 403 are neutral, and a person is told once for each name', async (context) => {
  const [url401, url403] = [await serve(context, 401), await serve(context, 403)];
  const entries: Entry[] = [];
  const gear = newGear();
  gear.on('access-refused', (entry) => entries.push(entry));
  const first = gear.guard('first', async () => fetch(url401));
  const second = gear.guard('second', async () => fetch(url403));
  for (let n = 0; n < 6; n++) await Promise.all([first(), second()]);
  assert.deepEqual(entries.map((entry) => 'name' in entry && entry.name).toSorted(), ['first', 'second']);
  assert.equal(gear.breaker('first').state, 'CLOSED');
});

test('failure = "throws-only" of one tool makes its returned errors successes', () => {
  const gear = newGear({ tools: { lint: { failure: 'throws-only' } }, loop: { enabled: false } });
  const lint = gear.guard('lint', () => ({ ok: false, error: 'three problems' }));
  const other = gear.guard('other', () => ({ ok: false, error: 'down' }));
  for (let n = 0; n < 5; n++) {
    lint();
    other();
  }
  assert.equal(gear.breaker('lint').state, 'CLOSED');
  assert.equal(gear.breaker('other').state, 'OPEN');
});
