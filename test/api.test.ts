/** The public surface grows only where somebody sees it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeSurface, listValues } from './api.ts';
import { listEntryPoints, listExports, readText } from './harness/source.ts';

test('the names of every door are those of api.txt', async () => {
  assert.equal(
    await describeSurface(),
    readText('api.txt'),
    'the surface changed. A name more is a promise more: if it is meant, run `npm run api` and commit api.txt',
  );
});

test('what a door says it exports is what it exports', async () => {
  for (const door of listEntryPoints()) {
    const { values } = listExports(readText(door.path));
    assert.deepEqual(values, await listValues(door), `${door.path}: write its exports as export { … } from '…'`);
  }
});

test('no name means two things: a name shared by two doors is the same thing', async () => {
  const known = new Map<string, { readonly value: unknown; readonly door: string }>();
  for (const door of listEntryPoints()) {
    if (door.name.startsWith('switchgear/adapters/')) continue; // One verb for all of them.
    const names = (await import(`../${door.path}`)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(names)) {
      const other = known.get(name);
      if (other !== undefined)
        assert.equal(value, other.value, `${name} of ${door.name} is not the one of ${other.door}`);
      known.set(name, { value, door: door.name });
    }
  }
});
