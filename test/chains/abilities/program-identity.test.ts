import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { identifyCommand, splitShellWords } from '../../../src/chains/abilities/program-identity.ts';

test('a command is its real program, and the content of programs and scripts in its folder', (context) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'switchgear-program-')));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['run', 'serve.js', 'data.csv']) writeFileSync(join(folder, name), 'one');
  chmodSync(join(folder, 'run'), 0o755);
  symlinkSync(join(folder, 'run'), join(folder, 'link'));
  const env = { PATH: '/usr/bin:/bin' };
  const identify = () => identifyCommand('./link', ['serve.js', '--config=./serve.js', 'data.csv', '\0'], folder, env);
  const before = identify();
  assert.equal(before.program.path, join(folder, 'run'));
  assert.deepEqual(
    before.files.map(({ path }) => path),
    [join(folder, 'serve.js')],
  );
  writeFileSync(join(folder, 'data.csv'), 'two');
  assert.deepEqual(identify(), before, 'data may change');
  writeFileSync(join(folder, 'serve.js'), 'two');
  assert.notDeepEqual(identify(), before);
  const system = identifyCommand('sh', [], folder, env);
  assert.match(system.program.digest, /^\d+ \d+ /, 'a program of the system is not read');
  assert.deepEqual(identifyCommand('nowhere', [], folder, env).program, { path: 'nowhere', digest: '' });
});

test('the words of a line of the shell that may name files', () => {
  assert.deepEqual(splitShellWords('A=./x.sh; sh "./b.sh" > out|$(./c.sh)'), [
    'A',
    './x.sh',
    'sh',
    './b.sh',
    'out',
    './c.sh',
  ]);
});
