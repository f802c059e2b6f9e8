/** A hook of Claude Code below a host of its own: the answer to its question must not come from below the host. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestHome } from '../cli/run/run-cli.ts';
import { collectOutput } from '../harness/child-output.ts';
import { compiled } from '../harness/compiled.ts';
import { bin } from '../harness/switchgear-bin.ts';

/** Runs one hook about a call of the shell, which a rule asks about, and returns what it prints. */
export async function runHook({ folder }: TestHome, store: string, event: object): Promise<string> {
  const policy = join(folder, 'hooks.toml');
  writeFileSync(policy, 'rules = ["ability:Bash|confirm|a shell can do anything"]\n');
  const line = `${process.execPath} ${bin} hook claude-code --timeout 60 --policy ${policy}`;
  const input = JSON.stringify({ session_id: 's-1', cwd: folder, permission_mode: 'default', ...event });
  const program = `import { spawnSync } from 'node:child_process';
    const [line, input] = process.argv.slice(1);
    process.stdout.write(spawnSync('sh', ['-c', line], { input, encoding: 'utf8' }).stdout);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, line, input], {
    cwd: folder,
    env: { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: store },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const { out } = collectOutput(child);
  await once(child, 'close');
  return out();
}
