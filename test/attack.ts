/**
 * `npm run attack`: the whole form of the attack suite under `test/attacks`, which `npm test` runs in a short form. The
 * last line counts the tests and attempts, and names what this machine cannot try. Further arguments are files.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './harness/source.ts';

const everyAttack = [
  'test/attacks/**/*.test.ts',
  'test/mcp/hostile-frames.test.ts',
  'test/mcp/http/hostile-requests.test.ts',
  'test/cli/mcp/proxy-memory.test.ts',
];
/** A file that hangs is ended after this time. */
const fileMaxMs = 600_000;

const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
try {
  process.exitCode = main(process.argv.slice(2));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function main(files: readonly string[]): number {
  const counts = join(folder, 'counts');
  const args = ['test/run-tests.ts', `--test-timeout=${fileMaxMs}`, ...(files.length > 0 ? files : everyAttack)];
  const env = { ...process.env, ATTACK_FORM: 'whole', ATTACK_COUNTS: counts };
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
  const lines = existsSync(counts) ? readFileSync(counts, 'utf8').trim().split('\n') : [];
  const told = lines.map((line) => JSON.parse(line) as { readonly held?: number; readonly notTried?: string });
  const held = told.reduce((sum, each) => sum + (each.held ?? 0), 0);
  const missing = told.flatMap((each) => each.notTried ?? []);
  const rest = missing.length === 0 ? '' : `; not tried: ${missing.join('; ')}`;
  console.log(`attack: ${status === 0 ? 'everything held' : 'something got through'}, ${held} attempts held${rest}`);
  return status ?? 1;
}
