/** A command as a process: nothing of what it prints is lost, whenever somebody begins to read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/platform/system-clock.ts';
import { startChild } from '../../src/supervisor/child.ts';

test('output printed before the first read is available after the command ends', { timeout: 60_000 }, async () => {
  const { PATH } = process.env;
  const script = 'head -c 30000 /dev/zero | tr "\\0" x; echo; echo late >&2';
  const child = await startChild({
    command: ['sh', '-c', script],
    cwd: process.cwd(),
    env: { PATH },
    ownsTerminal: false,
  });
  assert.ok('pid' in child);
  assert.deepEqual(await child.exited, { code: 0, signal: null });
  // Node lets go of what nobody reads some turns after the end.
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  let [out, err] = ['', ''];
  child.read(
    (piece) => {
      out += piece;
      return undefined;
    },
    (piece) => {
      err += piece;
      return Promise.resolve();
    },
  );
  await child.drain(systemClock, Number.POSITIVE_INFINITY, () => false);
  assert.equal(out, `${'x'.repeat(30_000)}\n`);
  assert.equal(err, 'late\n');
});
