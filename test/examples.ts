/** Runs every example, or those named. Each is a story that asserts, and says so by exiting with 0. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './harness/source.ts';

const named = process.argv.slice(2);
const stories = readdirSync(join(root, 'examples'), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
if (stories.length === 0) throw new Error('examples/ holds no stories: each is a folder with a main.ts');
for (const name of named) {
  if (!stories.includes(name)) throw new Error(`there is no example ${name}; there are ${stories.join(', ')}`);
}
const wanted = named.length === 0 ? stories : named;
let failed = 0;
for (const name of wanted) {
  const path = `examples/${name}/main.ts`;
  if (!existsSync(join(root, path))) throw new Error(`${path} is not there: an example starts in main.ts`);
  // Stories import the package by its name; the hooks lead that to the source, so that no build is needed.
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', './test/harness/entry-point-hooks.ts', path],
    {
      cwd: root,
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'}  ${path}`);
  if (status !== 0) failed++;
  if (status !== 0 || named.length > 0) console.log(stdout + stderr);
}
console.log(`examples ${wanted.length}, failed ${failed}`);
if (failed > 0) process.exitCode = 1;
