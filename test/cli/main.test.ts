import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { main } from '../../src/cli/main.ts';
import { policySchema } from '../../src/policy/index.ts';

function folderWith(context: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-cli-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function run(args: readonly string[], cwd = '/', env: Record<string, string> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await main(args, { out: (line) => out.push(line), err: (line) => err.push(line), cwd, env });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  assert.deepEqual(await run(['--version']), { code: 0, out: version, err: '' });
});

test('--help names every command; no command at all is wrong usage', async () => {
  const help = await run(['--help']);
  assert.equal(help.code, 0);
  for (const words of ['policy check', 'policy explain', 'policy schema', 'prompt'])
    assert.ok(help.out.includes(`switchgear ${words}`));
  assert.deepEqual([(await run([])).code, (await run([])).out], [2, help.out]);
  assert.equal((await run(['policy', '--help'])).code, 0);
});

for (const args of [
  ['polcy'],
  ['policy'],
  ['policy', 'chek'],
  ['policy', 'check', 'a', 'b'],
  ['policy', 'explain', '--jsn'],
  ['prompt', 'a', 'b'],
  ['constructor'],
]) {
  test(`"${args.join(' ')}" is wrong usage: exit code 2 and a hint`, async () => {
    const { code, err, out } = await run(args);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /^switchgear: .+\nTry switchgear --help\.$/);
  });
}

test('policy check accepts a valid file, by its name or found in the folder', async (context) => {
  const folder = folderWith(context, { 'switchgear.toml': 'mode = "enforce"', 'other.yaml': 'mode: observe' });
  const found = await run(['policy', 'check'], folder);
  assert.deepEqual([found.code, found.err], [0, '']);
  assert.match(found.out, /^OK: switchgear\.toml\ndigest: [0-9a-f]{64}$/);
  const other = await run(['policy', 'check', 'other.yaml'], folder);
  assert.equal(other.code, 0);
  assert.match(
    other.out,
    /^OK: other\.yaml\nlooser than the defaults: mode\n.*trust other\.yaml\ndigest: .*\nadvice: mode is "observe"/,
  );
});

test('policy check reports every problem with its line, and fails', async (context) => {
  const folder = folderWith(context, { 'switchgear.toml': '[task]\nmax_tool_calls = 0\nmax_idle = 3\n' });
  const { code, err, out } = await run(['policy', 'check'], folder);
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /task\.max_tool_calls must be a whole number from 1, got 0 \(switchgear\.toml, line 2\)/);
  assert.match(err, /task\.max_idle is not a setting; did you mean max_idle_secs\? \(switchgear\.toml, line 3\)/);
});

test('policy check without a file, or with a missing file, fails with a one-line error', async (context) => {
  const folder = folderWith(context, {});
  for (const args of [
    ['policy', 'check'],
    ['policy', 'check', 'none.toml'],
    ['policy', 'explain', 'none.toml'],
  ]) {
    const { code, err } = await run(args, folder);
    assert.equal(code, 1);
    assert.equal(err.split('\n').length, 1);
  }
});

test('policy explain prints the effective settings, including the environment', async (context) => {
  const folder = folderWith(context, { 'switchgear.toml': '[circuit_breaker]\nrecovery_timeout = 120\n' });
  const { code, out, err } = await run(['policy', 'explain'], folder, {
    SWITCHGEAR_TASK_MAX_TOOL_CALLS: '9',
    BB_CIRCUIT_BREAKER_IDLE_SECS: 'x',
  });
  assert.equal(code, 0);
  assert.match(
    out,
    /recovery_timeout_secs +120 s +switchgear\.toml, line 2: recovery_timeout \(alias of recovery_timeout_secs\)/,
  );
  assert.match(out, /max_tool_calls +9 +environment SWITCHGEAR_TASK_MAX_TOOL_CALLS/);
  assert.equal(err, 'warning: BB_CIRCUIT_BREAKER_IDLE_SECS="x" is ignored: it must be a number above 0; 300 is used');
});

test('policy explain --json prints the effective settings as JSON', async (context) => {
  const folder = folderWith(context, { 'switchgear.json': '{ "task": { "max_tool_calls": 9 } }' });
  const { out } = await run(['policy', 'explain', '--json'], folder);
  const { file, settings } = JSON.parse(out) as { file: string; settings: readonly { path: string }[] };
  assert.equal(file, 'switchgear.json');
  assert.deepEqual(
    settings.find(({ path }) => path === 'task.max_tool_calls'),
    { path: 'task.max_tool_calls', value: 9, source: 'file switchgear.json', line: 1 },
  );
});

test('policy explain without a file explains the defaults', async (context) => {
  const { code, out } = await run(['policy', 'explain'], folderWith(context, {}));
  assert.equal(code, 0);
  assert.match(out, /^policy: no file found, the defaults hold; not looser than the defaults\n/);
});

test('policy schema prints the schema', async () => {
  assert.deepEqual(JSON.parse((await run(['policy', 'schema'])).out), policySchema());
});

test('prompt prints both prompt blocks with the limits of the policy', async (context) => {
  const folder = folderWith(context, {
    'switchgear.toml': '[circuit_breaker]\nrecovery_timeout = 77\n[delegation]\nmax_failures = 1\n',
  });
  const { code, out } = await run(['prompt'], folder);
  assert.equal(code, 0);
  assert.match(out, /CircuitBreakerOpen/);
  assert.match(out, /77s/);
  assert.match(out, /1 fail/);
});

const bin = fileURLToPath(new URL('../../bin/switchgear.cjs', import.meta.url));

test('the command runs as a process, with its exit code', () => {
  const { status, stdout } = spawnSync(process.execPath, [bin, 'policy', 'schema'], { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.equal((JSON.parse(stdout) as { title: string }).title, 'Switchgear policy');
  assert.equal(spawnSync(process.execPath, [bin, 'nothing']).status, 2);
});

test('an old Node prints one line with the required and the actual version', (context) => {
  const folder = folderWith(context, {
    'old.cjs': "Object.defineProperty(process.versions, 'node', { value: '20.1.0' });",
  });
  const { status, stderr, stdout } = spawnSync(process.execPath, ['--require', join(folder, 'old.cjs'), bin], {
    encoding: 'utf8',
  });
  assert.deepEqual([status, stdout], [1, '']);
  assert.equal(stderr, 'switchgear needs Node 22.18 or newer; this is Node 20.1.0.\n');
});
