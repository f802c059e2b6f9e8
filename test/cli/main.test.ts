import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
    const known = args[0] === 'policy' || args[0] === 'prompt' ? `${args[0]} ` : '';
    assert.match(err, new RegExp(`^switchgear: .+\\nTry switchgear ${known}--help\\.$`));
  });
}

test('--help has groups, and the first command is run', async () => {
  const { out } = await run(['--help']);
  const lines = out.split('\n');
  const first = lines.findIndex((line) => line.startsWith('  switchgear '));
  assert.match(lines[first] ?? '', /^ {2}switchgear run /);
  assert.match(lines[first - 1] ?? '', /^\w[\w ]+:$/);
  assert.ok(lines.filter((line) => /^\w[\w, ]+:$/.test(line)).length >= 4, 'at least four groups');
  assert.ok(lines.every((line) => line.length <= 130));
});

test('help COMMAND prints the same page as COMMAND --help', async () => {
  for (const name of ['run', 'status', 'inbox', 'init', 'chain', 'policy', 'hook']) {
    const page = await run([name, '--help']);
    assert.equal(page.code, 0);
    assert.match(page.out, new RegExp(`^switchgear ${name}\\b`));
    assert.deepEqual(await run(['help', name]), page);
  }
  assert.equal((await run(['help', 'policy', 'check'])).code, 0);
});

const misspelled: readonly (readonly [args: readonly string[], hint: RegExp])[] = [
  [['stauts'], /unknown command 'stauts'; did you mean status\?\nTry switchgear --help\.$/],
  [['runn', '--', 'true'], /did you mean run\?/],
  [['help', 'doktor'], /did you mean doctor\?/],
  [['status', '--jsn'], /unknown option --jsn; did you mean --json\?\nTry switchgear status --help\.$/],
  [['run', '--max-cals=5', '--', 'true'], /unknown option --max-cals; did you mean --max-calls\?/],
  [['inbox', 'aprove', 'x'], /got 'aprove'; did you mean approve\?/],
  [['policy', 'chek'], /did you mean check\?/],
  [['init', 'claude'], /'claude-code', 'codex' or 'gemini', got 'claude'/],
  [['--jsn', 'status'], /expected a command before the option --jsn/],
  [
    ['run', '--max-duration', '5', '--', 'true'],
    /write --max-duration 5s for seconds or --max-duration 5m for minutes/,
  ],
  [['run', '--wait=90', '--', 'true'], /--wait needs a unit: write --wait 90s/],
];

for (const [args, hint] of misspelled) {
  test(`"${args.join(' ')}" gets the fix in its error`, async () => {
    const { code, err, out } = await run(args);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, hint);
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
  assert.match(out, /failed once/);
});

test('prompt states the limits in force of tools and of workers, each with their own', async (context) => {
  const folder = folderWith(context, {
    'switchgear.toml': `[task]\nmax_tool_calls = 20
      [tools.deploy]\nfailure_threshold = 1\nrecovery = "manual"
      [delegation]\non_trip = "halt"\n[delegation.worker_limits]\ncoder = 1\n`,
    'observe.toml': 'mode = "observe"',
  });
  const { out } = await run(['prompt', 'switchgear.toml'], folder);
  assert.match(out, /Every other tool: refused after 5 failures in a row, for 60s\./);
  assert.match(out, /`deploy`: refused after 1 failure, until a person resets it\./);
  assert.match(
    out,
    /Subagents and workers \(not tools\):\n- A subagent or worker that failed 2 times .*: the whole task ends\./,
  );
  assert.match(out, /`coder`: 1 failure\./);
  assert.match(out, /ends after 20 tool calls/);
  assert.doesNotMatch(out, /Waiting 60s|TERMINATE|AND tool calls/, 'another tool has another wait');
  const plain = (await run(['prompt'])).out;
  assert.match(plain, /Waiting 60s\..*Every tool: refused after 5 failures in a row, for 60s/s);
  assert.match(plain, /failed 2 times is not asked again: it gets no more work, and others still do\./);
  const observed = await run(['prompt', 'observe.toml'], folder);
  assert.match(observed.err, /nothing is refused/);
});

const bin = fileURLToPath(new URL('../../bin/switchgear.cjs', import.meta.url));

test('the command runs as a process, with its exit code', () => {
  const { status, stdout } = spawnSync(process.execPath, [bin, 'policy', 'schema'], { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.equal((JSON.parse(stdout) as { title: string }).title, 'Switchgear policy');
  assert.equal(spawnSync(process.execPath, [bin, 'nothing']).status, 2);
});

for (const args of [['--help'], ['policy', 'schema'], ['status'], ['run', '--store', 'memory', '--', 'echo', 'hi']]) {
  test(`"${args.join(' ')}" with a full disk as its output fails in one sentence`, (context) => {
    const full = openSync('/dev/full', 'w');
    context.after(() => closeSync(full));
    const { status, stderr } = spawnSync(process.execPath, [bin, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
      env: { ...process.env, HOME: folderWith(context, {}), SWITCHGEAR_STORE: '', XDG_STATE_HOME: '' },
    });
    assert.match(stderr, /^switchgear: the output could not be written: no space left on device(; .*)?\n$/);
    assert.equal(status, 1);
  });
}

test('a closed pipe ends a command silently, with the code of SIGPIPE', () => {
  const script = `"$0" "$1" policy schema | true; exit \${PIPESTATUS[0]}`;
  // A large output does not fit into the pipe, so that the command meets its closed end.
  const { status, stderr } = spawnSync('bash', ['-c', script, process.execPath, bin], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [141, '']);
});

test('a hook whose answer cannot be written blocks the call by its exit code', (context) => {
  const folder = folderWith(context, { 'switchgear.toml': '[task]\nmax_tool_calls = 1\n' });
  const full = openSync('/dev/full', 'w');
  context.after(() => closeSync(full));
  const env = { ...process.env, HOME: folder, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}` };
  const event = { session_id: 's', cwd: folder, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: {} };
  const send = (id: string) =>
    spawnSync(process.execPath, [bin, 'hook', 'claude-code'], {
      encoding: 'utf8',
      cwd: folder,
      env,
      input: JSON.stringify({ ...event, tool_use_id: id }),
      stdio: ['pipe', full, 'pipe'],
    });
  assert.equal(send('one').status, 0);
  const { status, stderr } = send('two');
  assert.match(stderr, /^switchgear: hook: the answer could not be written: .*no space left/);
  assert.equal(status, 2);
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
