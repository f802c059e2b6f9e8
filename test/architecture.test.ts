/** The map is complete: every folder, entry point and file that it names exists, and every folder is on it. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { listEntryPoints, listFiles, readText, root } from './harness/source.ts';

const map = readText('ARCHITECTURE.md');
const named = new Set([...map.matchAll(/`([\w./-]+)`/g)].map(([, name = '']) => name));

test('ARCHITECTURE.md lists every folder of src', () => {
  const folders = new Set(listFiles('src').map((path) => `${posix.dirname(path).replace(/^src\/?/, '')}/`));
  folders.delete('/');
  const missing = [...folders].filter((folder) => !named.has(folder));
  assert.deepEqual(missing, [], 'add these folders to the table of ARCHITECTURE.md');
});

test('ARCHITECTURE.md lists every entry point', () => {
  const adapters = 'switchgear/adapters/';
  const missing = listEntryPoints()
    .map(({ name }) => name)
    .filter((name) => !named.has(name) && !(name.startsWith(adapters) && named.has(name.slice(adapters.length))));
  assert.deepEqual(missing, [], 'add these entry points to ARCHITECTURE.md');
});

test('every folder and file that ARCHITECTURE.md names exists', () => {
  const top = new Set(listFiles('src').map((path) => path.split('/')[1]));
  const gone = [...named].filter((name) => {
    if (!name.includes('/') || name.startsWith('switchgear/')) return false;
    const isDocument = /^(?:docs|test)\//.test(name);
    if (!isDocument && !top.has(name.split('/')[0])) return false;
    const path = isDocument ? name : `src/${name}`;
    const isDecision = /^docs\/decisions\/\d{4}$/.test(name);
    return isDecision
      ? !listFiles('docs/decisions').some((file) => file.startsWith(`${name}-`))
      : !existsSync(join(root, path)) && !existsSync(join(root, `${path}.ts`));
  });
  assert.deepEqual(gone, [], 'ARCHITECTURE.md names these, which are not there');
});
