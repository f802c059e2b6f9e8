/** Errors of the listener of a watch. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';

const fails: Readonly<Record<string, () => void>> = {
  throws: () => {
    throw new Error('no disk');
  },
  rejects: async () => {
    throw new Error('no disk');
  },
};

for (const [how, listener] of Object.entries(fails)) {
  test(`a listener of a watch that ${how} is reported, and later events still reach it`, async () => {
    const lines: string[] = [];
    using gear = createSwitchgear({ log: (line) => lines.push(line), env: {} });
    const source = new EventEmitter();
    let calls = 0;
    gear.watch('files', source, () => {
      calls++;
      return listener();
    });
    source.emit('change', 'a');
    source.emit('change', 'b');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(calls, 2);
    assert.equal(gear.snapshot().internalErrors, 2);
    assert.match(lines[0] ?? '', /internal error in listener of watch files: Error: no disk/);
  });
}
