/**
 * Runs the package and a short form of the tests on each Node that `engines` promises: the first of every line, and the
 * newest. `npm run test:nodes` builds the package and tries all, `npm run test:nodes -- 22.18.0` one;
 * `SWITCHGEAR_NODES=FOLDER` keeps what npm brings for the next time.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { root } from './harness/source.ts';

/** The lowest version of each line that `engines` allows, and the newest of all. */
const versions = ['22.18.0', '24.0.0', '25.0.0', '26.0.0', '26.10.0'];

/** The short form: the core, the stores, the command, hooks and runs. */
const files = [
  'test/standalone/*.test.ts',
  'test/core/*.test.ts',
  'test/stores/memory.test.ts',
  'test/stores/{cells,sqlite}/*.test.ts',
  'test/bin/switchgear.test.ts',
  'test/cli/main.test.ts',
  'test/cli/commands/store-commands.test.ts',
  'test/cli/run/{command,options,screen}.test.ts',
  'test/hooks/{handle-event,hook-processes}.test.ts',
  'test/supervisor/watchdog.test.ts',
];

const kept = process.env.SWITCHGEAR_NODES;
const folder = kept ?? mkdtempSync(join(tmpdir(), 'switchgear-nodes-'));
chmodSync(folder, 0o755); // Some tests start Node as another user.
const chosen = process.argv.slice(2);
try {
  for (const version of chosen.length > 0 ? chosen : versions) if (!tryVersion(version)) process.exitCode = 1;
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}

/** Prints one line about a version; where something fails, also all that was printed. */
function tryVersion(version: string): boolean {
  const began = performance.now();
  const node = nodeOf(version);
  const packed = run(node, ['test/packed.ts']);
  const tests = run(node, ['test/run-tests.ts', '--no-install', '--again', '--test-reporter=dot', ...files]);
  const isFine = packed.code === 0 && tests.code === 0;
  if (!isFine) console.log(packed.code === 0 ? tests.printed : packed.printed);
  const secs = Math.round((performance.now() - began) / 1_000);
  const last = tests.stdout.trimEnd().split('\n').at(-1);
  console.log(
    `${isFine ? 'ok ' : 'BAD'}  Node ${version}: package ${packed.code === 0 ? 'works' : 'fails'}; ${last}; ${secs} s`,
  );
  return isFine;
}

/** The program of a version, which the npm package `node` brings. */
function nodeOf(version: string): string {
  const home = join(folder, version);
  const node = join(home, 'node_modules', 'node', 'bin', 'node');
  if (!existsSync(node)) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, allowScripts: { node: true } }));
    const args = ['install', '--no-save', '--no-audit', '--no-fund', `node@${version}`];
    const { status, stdout, stderr } = spawnSync('npm', args, { cwd: home, encoding: 'utf8' });
    if (status !== 0) throw new Error(`npm ${args.join(' ')}\n${stdout}${stderr}`);
  }
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (stdout.trim() !== `v${version}`) throw new Error(`wanted Node ${version}, npm installed ${stdout.trim()}`);
  return node;
}

function run(node: string, args: readonly string[]) {
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const options = { cwd: root, encoding: 'utf8', env: { ...process.env, PATH }, maxBuffer: 2 ** 27 } as const;
  const { status, stdout, stderr } = spawnSync(node, args, options);
  return { code: status, stdout, printed: stdout + stderr };
}
