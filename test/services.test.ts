/** Services before the tests: how each package manager is called, what happens while it is locked, and without any. */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { collectOutput } from './harness/child-output.ts';
import { root } from './harness/source.ts';
import type { Readiness } from './services.ts';
import { testEnvironment } from './test-environment.ts';

/** Makes the services ready as a certain user, and prints what is ready on the last line. */
const program = (uid: number) => `
process.getuid = () => ${uid};
const { makeReady } = await import(${JSON.stringify(join(root, 'test', 'services.ts'))});
console.log(JSON.stringify(await makeReady(console.log)));`;

/** A package manager that writes down how it was called, fails while it is locked, and installs a program. */
const fakeManager = `#!/bin/sh
PATH=/usr/bin:/bin
cd "$(dirname "$0")"
printf '%s\\n' "$(basename "$0") $*" >> calls
mkdir locked 2>/dev/null || { echo "E: Could not get lock /var/lib/dpkg/lock-frontend." >&2; exit 100; }
sleep 0.1
for package in "$@"; do :; done
case $package in *redis*) program=redis-server ;; *prometheus*) program=promtool ;; *) program=$package ;; esac
printf '#!/bin/sh\\n' > $program
chmod +x $program
rmdir locked
`;
const fakes: Readonly<Record<string, string>> = {
  sudo: '#!/bin/sh\n[ "$1" = -n ] && shift && [ "$1" = true ] && exit 0\nexec "$@"\n',
  'sudo with a password': '#!/bin/sh\necho "sudo: a password is required" >&2\nexit 1\n',
};

function machine(context: TestContext, programs: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-services-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const each of programs) {
    const file = join(folder, each.split(' ')[0]!);
    writeFileSync(file, fakes[each] ?? fakeManager);
    chmodSync(file, 0o755);
  }
  return folder;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...testEnvironment(process.env), ...env } });
  const { out, err } = collectOutput(child);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, lines: out().trimEnd().split('\n'), err: err() };
}

async function makeReadyOn(folder: string, uid: number) {
  const { lines } = await run(['--input-type=module', '-e', program(uid)], { PATH: folder });
  const found = JSON.parse(lines.at(-1)!) as Readiness[];
  return { missing: found.flatMap((each) => each.missing ?? []), printed: lines.slice(0, -1) };
}

const programsOf = ['redis-server', 'chromium', 'promtool'];
const apt = 'apt-get -o DPkg::Lock::Timeout=300';

for (const [programs, uid, install, packages] of [
  [['apt-get'], 0, `${apt} install -y`, ['redis-server', 'chromium', 'prometheus']],
  [['apt-get', 'sudo'], 1000, `sudo -n ${apt} install -y`, ['redis-server', 'chromium', 'prometheus']],
  [['dnf'], 0, 'dnf install -y', ['redis', 'chromium', 'golang-github-prometheus']],
  [['dnf', 'sudo'], 1000, 'sudo -n dnf install -y', ['redis', 'chromium', 'golang-github-prometheus']],
  [['apk'], 0, 'apk --wait 300 add', ['redis', 'chromium', 'prometheus']],
  [['brew'], 1000, 'brew install', ['redis', 'chromium', 'prometheus']],
  [['brew', 'apt-get', 'sudo with a password'], 1000, 'brew install', ['redis', 'chromium', 'prometheus']],
] as const) {
  test(`with ${programs.join(', ')} user ${uid} runs: ${install} ${packages[0]}`, async (context) => {
    const folder = machine(context, programs);
    const { missing, printed } = await makeReadyOn(folder, uid);
    assert.deepEqual(missing, []);
    const lines = packages.map((each) => `${install} ${each}`);
    assert.deepEqual(
      printed.map(withoutToolOptions),
      lines.map((line, at) => `${programsOf[at]} is not on the PATH; running: ${line}`),
    );
    const calls = readFileSync(join(folder, 'calls'), 'utf8').trimEnd().split('\n');
    assert.deepEqual(
      calls.map(withoutToolOptions),
      lines.map((line) => line.replace('sudo -n ', '')),
    );
    assert.deepEqual(await makeReadyOn(folder, uid), { missing: [], printed: [] });
  });
}

/** A line without the options by which apt-get installs a tool without its daemon. */
function withoutToolOptions(line: string): string {
  return line.replace(/ --no-install-recommends .*; fi(?= )/, '');
}

test('apt-get installs promtool without its daemon, and leaves the policy of the machine alone', async (context) => {
  const folder = machine(context, ['apt-get']);
  const { printed } = await makeReadyOn(folder, 0);
  const options = [...printed[2]!.matchAll(/DPkg::(Pre|Post)-Invoke::=(.*?; fi)(?= -o| prometheus)/g)];
  const [before = '', after = ''] = options.map(([, , script = '']) => script);
  for (const [given, during] of [
    ['', '#!/bin/sh\n# written by the tests of switchgear\nexit 101\n'],
    ['#!/bin/sh\nexit 0\n', '#!/bin/sh\nexit 0\n'],
  ] as const) {
    const policy = join(folder, 'policy-rc.d');
    if (given !== '') writeFileSync(policy, given);
    const play = (script: string) => execFileSync('sh', ['-c', script.replaceAll('/usr/sbin/policy-rc.d', policy)]);
    play(before);
    assert.equal(readFileSync(policy, 'utf8'), during);
    play(after);
    assert.equal(existsSync(policy), given !== '');
  }
});

for (const [programs, uid, install] of [
  [[], 0, ''],
  [['apt-get'], 1000, 'sudo apt-get install -y redis-server'],
  [['apt-get', 'sudo with a password'], 1000, 'sudo apt-get install -y redis-server'],
  [['brew'], 0, 'brew install redis'],
] as const) {
  test(`with ${programs.join(', ') || 'nothing'} user ${uid} runs nothing and gets instructions`, async (context) => {
    const folder = machine(context, programs);
    const { missing, printed } = await makeReadyOn(folder, uid);
    const none = 'put redis-server on the PATH; found none of apt-get, dnf, apk, brew';
    const advice = install === '' ? none : `install it with: ${install}`;
    assert.equal(missing[0], `redis-server is not installed (${advice})`);
    assert.deepEqual(
      missing.map((each) => each.split(' ')[0]),
      programsOf,
    );
    assert.deepEqual(printed, []);
    assert.ok(!existsSync(join(folder, 'calls')));
  });
}

test('two runners that start while the package manager is locked wait, and then find the service', async (context) => {
  const folder = machine(context, ['apt-get']);
  const lock = join(folder, 'locked');
  mkdirSync(lock);
  setTimeout(() => rmdirSync(lock), 1_000);
  const both = await Promise.all([makeReadyOn(folder, 0), makeReadyOn(folder, 0)]);
  for (const { missing, printed } of both) {
    assert.deepEqual(missing, []);
    const redis = printed.filter((line) => line.startsWith('redis-server is not'));
    assert.equal(redis.length, 1, printed.join('\n'));
    assert.ok(printed.length <= 3, printed.join('\n')); // The other programs may be there when it comes to them.
  }
});

test('the errors of a failing package manager are printed, also after an update of its lists', async (context) => {
  const folder = machine(context, ['apt-get']);
  writeFileSync(join(folder, 'apt-get'), '#!/bin/sh\necho "E: Unable to locate package $*" >&2\nexit 100\n');
  const { missing, printed } = await makeReadyOn(folder, 0);
  assert.equal(missing[0], 'redis-server is not installed (install it with: sudo apt-get install -y redis-server)');
  const install = `${apt} install -y redis-server`;
  const update = `${apt} update`;
  const words = printed.map((line) => /running: (.*)/.exec(line)?.[1] ?? line.split(': E: ')[1]?.slice(0, 24));
  const unknown = 'Unable to locate package';
  assert.deepEqual(words.slice(0, 6), [install, unknown, update, unknown, install, unknown]);
});

test('a test without its service is skipped with the reason and counted, and fails on CI', async (context) => {
  const folder = machine(context, []);
  const PATH = [folder, dirname(process.execPath)].join(delimiter);
  const args = ['test/run-tests.ts', '--without=redis-server', 'test/hooks/hooks-on-redis.test.ts'];
  const reason = 'redis-server is not installed (put redis-server on the PATH; found none of apt-get, dnf, apk, brew)';
  const skipped = await run(args, { PATH, CI: '' });
  assert.equal(skipped.code, 0, skipped.err);
  assert.equal(skipped.lines.at(-1), `0 passed, 0 failed, 1 skipped: ${reason}`);
  assert.ok(skipped.lines.some((line) => /over Redis an endless failing call/.test(line) && line.includes(reason)));
  const onCi = await run(args, { PATH, CI: 'true' });
  assert.equal(onCi.code, 1);
  const words = `CI is set, so no test may be skipped: ${reason}`;
  assert.ok(onCi.lines.at(-1)?.startsWith(words), onCi.lines.at(-1));
  const alone = await run(['--test', '--test-reporter=spec', 'test/hooks/hooks-on-redis.test.ts'], {
    PATH,
    CI: 'true',
  });
  assert.equal(alone.code, 1);
  assert.ok(alone.lines.some((line) => line.includes(`Error: ${reason}`)));
});

test('tests do not see the settings of Switchgear or of the agent that runs them', () => {
  const env = { PATH: 'p', CI: '1', SWITCHGEAR_STORE: 'x', BB_CIRCUIT_BREAKER: '1', CLAUDECODE: '1', CODEX_HOME: 'x' };
  assert.deepEqual(testEnvironment({ ...env, NODE_TEST_CONTEXT: 'child-v8' }), { PATH: 'p', CI: '1' });
});
