/** The package as users have it: built, outside of the checkout, without its source. */

import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Builds it into a folder, and gives the path of its command. */
export function publishedIn(folder: string): string {
  for (const name of ['bin', 'src', 'tools', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const { status } = spawnSync('npm', ['run', 'build', '--silent'], { cwd: folder, stdio: 'inherit' });
  if (status !== 0) throw new Error('the package could not be built');
  rmSync(join(folder, 'src'), { recursive: true }); // Where the source lies beside it, that is run.
  return join(folder, 'bin', 'switchgear.cjs');
}
