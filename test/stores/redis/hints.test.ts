import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createViews } from '../../../src/stores/cells/cell-views.ts';
import { createHealthMonitor } from '../../../src/stores/cells/store-health.ts';
import type { RedisConnection } from '../../../src/stores/redis/connection.ts';
import { createHints } from '../../../src/stores/redis/hints.ts';
import { createKnownState } from '../../../src/stores/redis/known-state.ts';

function process(line: string, send: (args: readonly string[]) => void) {
  const memory = createKnownState(
    createViews(() => {}),
    createHealthMonitor(),
  );
  memory.born = 'store';
  memory.line = line;
  const connection = { isUp: true, command: async (args: string[]) => send(args) } as unknown as RedisConnection;
  return { memory, hints: createHints({ memory, connection: () => connection, channel: 'hints' }) };
}

test('other clients get a hint at once, and for a cell that keeps changing one more with its last value', async () => {
  const sent: (readonly string[])[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const one = process('one', (args) => {
    sent.push(args);
    if (sent.length > 1) resolve();
  });
  for (const version of [1, 2, 3]) {
    one.memory.setCell('a', version, `{"n":\n${version}}`);
    one.hints.changed('a', version);
  }
  assert.match(sent[0]?.[2] ?? '', /\{"n":\n1\}$/);
  one.hints.changed('b', 4); // Of what others wrote since then, they tell.
  one.memory.setCell('b', 5, 'theirs');
  assert.equal(one.hints.waiting, 3);
  await promise;
  assert.equal(sent.length, 2);
  const [, , message = ''] = sent[1]!;
  const other = process('other', () => {});
  other.hints.onMessage(message);
  assert.deepEqual(other.memory.cells.get('a'), { version: 3, text: '{"n":\n3}' });
  one.memory.setCell('a', 7, 'later');
  one.hints.onMessage(message.replace('\n3\n', '\n9\n'));
  assert.equal(one.memory.cells.get('a')?.version, 7, 'a process does not listen to itself');
  other.memory.born = 'another';
  other.hints.onMessage(message.replace('\n3\n', '\n9\n'));
  assert.equal(other.memory.cells.get('a')?.version, 3, 'nor to what is said of another store');
});
