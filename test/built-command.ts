/**
 * Builds the command as the package has it, into a folder of one run of the tests. Tests start it hundreds of times,
 * and from the source each start would read and strip a hundred files.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './harness/source.ts';

/** Builds without checking types: `npm run types` does that. Returns the file of the command. */
export function buildCommand(folder: string): string {
  mkdirSync(folder);
  const dist = join(folder, 'dist');
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  run(tsc, '-p', 'tsconfig.build.json', '--noCheck', '--declaration', 'false', '--outDir', dist);
  for (const tool of ['bundle-hook.ts', 'bundle-run.ts']) run(join('tools', tool), join(dist, 'cli'));
  run(join('tools', 'bundle-page.ts'), join(dist, 'page'));
  for (const name of ['bin', 'package.json', 'chain.schema.json', 'policy.schema.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'bin', 'switchgear.cjs');
}

function run(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the command cannot be built: ${args.join(' ')}\n${stdout}${stderr}`);
}
