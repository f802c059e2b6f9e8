import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { readUtf8 } from '../../src/document/read-utf8.ts';

test('a file larger than the limit or not in UTF-8 is rejected', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-document-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'a.yaml');
  writeFileSync(path, 'ä: 1');
  assert.equal(readUtf8(path, 5), 'ä: 1');
  assert.throws(() => readUtf8(path, 4), { message: 'the file has 5 bytes, at most 4' });
  assert.equal(readUtf8(path, 4, 5), 'ä: 1');
  writeFileSync(path, Uint8Array.of(0xe4));
  assert.throws(() => readUtf8(path, 5), { message: 'the file is not UTF-8' });
  assert.throws(() => readUtf8(join(folder, 'none'), 5), { code: 'ENOENT' });
});
