/** A guarded function has the type of the function, so it has its name, length and properties, too. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';

async function find(query: string, limit: number): Promise<string> {
  return `${query} ${limit}`;
}

const search = Object.assign(find, { schema: { type: 'object' } });

for (const onRefusal of ['return', 'throw'] as const) {
  test(`a guarded function keeps name, length and properties, with onRefusal: '${onRefusal}'`, async () => {
    const gear = createSwitchgear({ log: 'silent', env: {}, onRefusal });
    const guarded = gear.guard('search', search) as unknown as typeof search;
    assert.deepEqual([guarded.name, guarded.length, guarded.schema], ['find', 2, { type: 'object' }]);
    assert.equal(await guarded('cats', 3), 'cats 3');
  });
}

test('a function whose properties throw when read can be guarded', () => {
  const hidden = new Proxy(() => 1, {
    ownKeys() {
      throw new Error('no');
    },
  });
  const gear = createSwitchgear({ log: 'silent', env: {} });
  assert.equal(gear.guard('hidden', hidden)(), 1);
});
