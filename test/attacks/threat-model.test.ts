/** The page of the threat model names a test for each attack, and each named test exists. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const folder = import.meta.dirname;
const page = readFileSync(join(folder, '../../docs/guides/what-it-protects-against.md'), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| ') && line.includes('.test.ts`'));
const attacksMax = 35;

test('every row of the threat model names test files that exist, and titles in them', () => {
  assert.ok(rows.length > 30);
  for (const row of rows) {
    for (const [, file, number] of row.matchAll(/`([\w/-]+\.test\.ts)`(?: (\d\d))?/g)) {
      const path = join(folder, file!);
      assert.ok(existsSync(path), `${file} does not exist`);
      if (number !== undefined) {
        assert.ok(readFileSync(path, 'utf8').includes(`attack ${number}: `), `${file} has no test of attack ${number}`);
      }
    }
  }
});

test('every attack has a row in the threat model', () => {
  const named = new Set([...page.matchAll(/\.test\.ts` (\d\d)/g)].map(([, number]) => number));
  const missing = Array.from({ length: attacksMax }, (_, index) => String(index + 1).padStart(2, '0'));
  assert.deepEqual(
    missing.filter((number) => !named.has(number)),
    [],
  );
});

test('every file of attacks is named in the threat model', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts') && name !== 'threat-model.test.ts');
  assert.deepEqual(
    files.filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
});
