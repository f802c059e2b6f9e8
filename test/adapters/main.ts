/** Tests the adapters against the frameworks themselves, which are installed here and nowhere else. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const hooks = join(here, 'hooks.ts');

function step(title: string, command: string, ...args: readonly string[]): void {
  console.log(`\n-- ${title}`);
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0) process.exit(status ?? 1);
}

/** npm writes this file last: as old as the lock or older, it belongs to another one. */
function isInstalled(): boolean {
  const marker = join(here, 'node_modules', '.package-lock.json');
  return existsSync(marker) && statSync(marker).mtimeMs > statSync(join(here, 'package-lock.json')).mtimeMs;
}

if (!isInstalled()) step('frameworks', 'npm', 'ci', '--prefix', here, '--omit=optional', '--no-audit', '--no-fund');
step('types', process.execPath, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', here);
step('stories', process.execPath, '--import', hooks, '--test', join(here, '{,!(node_modules|examples)/}*.test.ts'));
for (const name of readdirSync(join(here, 'examples'))) {
  step(`example ${name}`, process.execPath, '--import', hooks, join(here, 'examples', name, 'main.ts'));
}
