/** Long messages of servers are held one at a time, over all sessions of a listener. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientStream } from '../../../src/mcp/http/client-stream.ts';
import { LongMessages } from '../../../src/mcp/http/long-messages.ts';
import { turn } from '../proxied-session.ts';

function startMessages() {
  const messages = new LongMessages();
  const begun: string[] = [];
  const sessions = Object.fromEntries(['first', 'second', 'third'].map((name) => [name, { name }]));
  const begin = (name: string) => {
    const waiting = messages.begin(sessions[name]!);
    if (waiting === undefined) begun.push(name);
    else void waiting.then(() => begun.push(name));
  };
  return { messages, begun, begin, end: (name: string) => messages.end(sessions[name]!) };
}

test('sessions take turns, and one that has ended is left out', async () => {
  const { begun, begin, end } = startMessages();
  for (const name of ['first', 'second', 'third', 'first']) begin(name);
  await turn();
  assert.deepEqual(begun, ['first', 'first']);
  end('second');
  end('first');
  await turn();
  assert.deepEqual(begun, ['first', 'first', 'third']);
  end('third');
  begin('second');
  assert.equal(begun.at(-1), 'second');
  end('second');
});

test('a session that does not end its message lets the next one begin after 10 s', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, begin, end } = startMessages();
  begin('first');
  begin('second');
  context.mock.timers.tick(9_900);
  await turn();
  assert.deepEqual(begun, ['first']);
  context.mock.timers.tick(200);
  await turn();
  assert.deepEqual(begun, ['first', 'second']);
  end('second');
});

test('long events are kept for one stream', () => {
  const { messages } = startMessages();
  const forgotten: string[] = [];
  const makeStream = (name: string) => ({ forgetEvents: () => forgotten.push(name) }) as unknown as ClientStream;
  const [one, other] = [makeStream('one'), makeStream('other')];
  for (const stream of [one, one, other]) messages.keepEvents(stream!);
  assert.deepEqual(forgotten, ['one']);
});
