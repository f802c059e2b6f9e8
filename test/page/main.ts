/**
 * `npm run test:page`: the page of `switchgear serve` in Chromium, and decisions while the server is killed, in the
 * whole form; `npm test` runs a short one. Further arguments are files. `--screenshots` writes the pictures of docs.
 */

import { spawnSync } from 'node:child_process';
import { root } from '../harness/source.ts';

const everyFile = ['test/page/*.test.ts', 'test/page/whole-*.ts', 'test/server/crash.test.ts'];
/** A test that hangs fails after this time. */
const testMaxMs = 120_000;

const args = process.argv.slice(2);
const files = args.filter((each) => each !== '--screenshots');
const env = {
  ...process.env,
  ATTACK_FORM: 'whole',
  ...(args.includes('--screenshots') && { PAGE_SCREENSHOTS: 'docs/images' }),
};
const line = ['test/run-tests.ts', '--again', `--test-timeout=${testMaxMs}`, ...(files.length > 0 ? files : everyFile)];
const { status } = spawnSync(process.execPath, line, { cwd: root, env, stdio: 'inherit' });
process.exitCode = status ?? 1;
