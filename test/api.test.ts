/** A change of the public API is seen in review. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeApi, listValues } from './api.ts';
import { listEntryPoints, listExports, readText, root } from './harness/source.ts';

test('the declarations of every entry point are those of api/', () => {
  const described = describeApi();
  const advice = 'the public API changed. If the change is meant, run `npm run api` and commit api/';
  assert.deepEqual(readdirSync(join(root, 'api')).sort(), [...described.keys()].sort(), advice);
  for (const [file, text] of described) assert.equal(text, readText(`api/${file}`), `${file}: ${advice}`);
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
