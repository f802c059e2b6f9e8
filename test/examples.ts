/** Runs every example. Each is a story that asserts, and says so by exiting with 0. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './source.ts';

const stories = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
if (stories.length === 0) throw new Error('examples/ holds no stories: each is a folder with a main.ts');
let failed = 0;
for (const { name } of stories) {
  const path = `examples/${name}/main.ts`;
  if (!existsSync(join(root, path))) throw new Error(`${path} is not there: an example starts in main.ts`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [path], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'}  ${path}`);
  if (status === 0) continue;
  failed++;
  console.log(stdout + stderr);
}
console.log(`examples ${stories.length}, failed ${failed}`);
if (failed > 0) process.exitCode = 1;
