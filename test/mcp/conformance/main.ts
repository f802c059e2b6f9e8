/**
 * `npm run test:mcp`: the official conformance suite against our own server, directly and through the proxy: HTTP to
 * HTTP, and HTTP to stdio. Every check must have the same outcome. The suite is installed in a temporary folder.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceBin } from '../../harness/switchgear-bin.ts';

/** How long one run of the suite may take. */
const suiteMs = 120_000;

const suite = '@modelcontextprotocol/conformance@0.1.16';
const server = fileURLToPath(new URL('./server.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'switchgear-conformance-'));
const children: ChildProcess[] = [];

/**
 * Checks about how a server streams its answers. A stdio server has no streams: the proxy answers with JSON where it
 * can, and does not close a stream before its answer.
 */
const streamChecks = new Set(['server-sse-streams-functional', 'server-sse-disconnect-resume']);

/** Starts a listener; resolves with its URL. */
function start(args: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: 'memory' };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const [, url] = /listening on (\S+)/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.once('exit', () => reject(new Error(`the process ended: ${text}`)));
  });
}

/** Runs all scenarios; returns each check with its outcome. */
async function runSuite(name: string, url: string): Promise<ReadonlyMap<string, string>> {
  const output = join(folder, name);
  const program = join(folder, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
  const args = [program, 'server', '--suite', 'all', '--url', url, '--output-dir', output];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], timeout: suiteMs });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  console.log(`${name}: ${/Total: .*/.exec(stdout)?.[0] ?? stdout.slice(-2_000)}`);
  if (status !== 0) process.exitCode = 1;
  const checks = new Map<string, string>();
  for (const run of readdirSync(output)) {
    const scenario = run.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    const list = JSON.parse(readFileSync(join(output, run, 'checks.json'), 'utf8')) as { id: string; status: string }[];
    for (const { id, status } of list)
      if (status !== 'INFO' || streamChecks.has(id)) checks.set(`${scenario} ${id}`, status);
  }
  return checks;
}

function compare(name: string, one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): void {
  for (const key of new Set([...one.keys(), ...other.keys()])) {
    if (one.get(key) === other.get(key)) continue;
    const isStream = name === 'to-stdio' && [...streamChecks].some((id) => key.endsWith(` ${id}`));
    console.log(`${name}: ${key} is ${other.get(key)}, directly ${one.get(key)}${isStream ? ' (as it should)' : ''}`);
    if (!isStream) process.exitCode = 1;
  }
}

try {
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefix', folder];
  const { status } = spawnSync('npm', ['install', ...flags, suite], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the conformance suite cannot be installed');
  const listen = [sourceBin, 'mcp', '--listen', '0'];
  // The scenarios mostly wait, so all three run at once, each with a server of its own.
  const [direct, toHttp, toStdio] = await Promise.all([
    start([server, '0']).then((url) => runSuite('direct', url)),
    start([server, '0']).then(async (url) => runSuite('to-http', await start([...listen, '--url', url]))),
    start([...listen, '--', process.execPath, server]).then((url) => runSuite('to-stdio', url)),
  ]);
  compare('to-http', direct, toHttp);
  compare('to-stdio', direct, toStdio);
  console.log(`${direct.size} checks`);
} finally {
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(children.map((child) => child.exitCode ?? new Promise((resolve) => child.once('exit', resolve))));
  rmSync(folder, { recursive: true, force: true });
}
