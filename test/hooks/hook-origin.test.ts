/** The process that ran a hook, by the processes above it and by the launch. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { describeLaunch, findHookCommand, type HookLaunch } from '../../src/hooks/hook-origin.ts';
import type { ProcessInfo } from '../../src/supervisor/process-table.ts';
import { testEnvironment } from '../test-environment.ts';

const child = `${process.execPath} ${join(import.meta.dirname, 'origin-child.ts')}`;
let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'switchgear-origin-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

interface Printed {
  readonly host?: number;
  readonly launch?: HookLaunch;
  readonly innerLaunch?: HookLaunch;
  readonly ancestors: readonly number[];
}

/** Runs a program that starts the child; `true` behind a command keeps a shell from replacing itself. */
function launch(program: string, args: readonly string[], input = ''): Printed {
  const env = testEnvironment(process.env);
  const { stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8', env, input });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout.split('\n').find((line) => line.startsWith('{'))!) as Printed;
}

/** The launch by the nearest program: an agent CLI above the tests would be taken for the host. */
function nearestLaunch({ launch: found, innerLaunch }: Printed): HookLaunch | undefined {
  return innerLaunch ?? found;
}

test('the host is the process above the shells and launchers of a hook', () => {
  const found = nearestLaunch(launch('sh', ['-c', `${child} hook claude-code; true`]));
  assert.equal(found?.host.pid, process.pid);
  assert.equal(found?.between.length, 1);
  assert.match(found?.surroundings ?? '', /^true (pipe|socket)$/);
});

test('the stdin of a hook belongs to its launch', () => {
  writeFileSync(join(folder, 'event.json'), '{}');
  const found = nearestLaunch(launch('sh', ['-c', `${child} hook claude-code < event.json; true`]));
  assert.match(found?.surroundings ?? '', /^true file$/);
});

test('a shell with a script file is a program, so that a tool is nearer to the hook than its host', () => {
  writeFileSync(join(folder, 'tool.sh'), `${child}\ntrue\n`);
  const { host, ancestors } = launch('sh', ['tool.sh']);
  assert.notEqual(host, process.pid);
  assert.equal(host, ancestors[0]);
  assert.ok(ancestors.includes(process.pid));
});

test('an agent CLI above a wrapper is the host, and the launch of the wrapper is known, too', () => {
  writeFileSync(join(folder, 'wrapper.sh'), `${child}\ntrue\n`);
  const program = `require('node:child_process').spawnSync('sh', ['wrapper.sh'], { stdio: 'inherit' })`;
  writeFileSync(join(folder, 'claude'), program);
  const { host, launch: found, innerLaunch, ancestors } = launch(process.execPath, ['claude']);
  assert.equal(host, ancestors[1]);
  assert.equal(found?.host.pid, host);
  assert.equal(innerLaunch?.host.pid, ancestors[0]);
});

test('a shell that reads its commands is a person, and no host', () => {
  const { host, ancestors } = launch('sh', [], `${child}\ntrue\n`);
  assert.equal(host, undefined);
  assert.ok(ancestors.includes(process.pid));
});

const host: ProcessInfo = {
  ...{ pid: 10, parent: 1, group: 10, session: 10, began: '1', name: 'node', hasTerminal: false },
};
const makeLaunch = (surroundings: string, ...between: readonly (readonly string[])[]): HookLaunch => ({
  ...{ host, between, surroundings },
});
const plain = ['sh', '-c', 'switchgear hook claude-code'];

test('a launch is described by its surroundings, and by its command lines unless they run nothing but the hook', () => {
  const [surroundings, whole] = describeLaunch(makeLaunch('true pipe', plain));
  const withOption = describeLaunch(makeLaunch('true pipe', ['sh', '-c', 'npx switchgear hook codex --store x']));
  assert.deepEqual(withOption, [surroundings, whole]);
  const others = [
    makeLaunch('true pipe', ['sh', '-c', 'echo {} | switchgear hook claude-code']),
    makeLaunch('true pipe', ['sh', '-c', 'switchgear hook claude-code; true']),
    makeLaunch('true pipe', plain, plain),
    makeLaunch('true pipe'),
    makeLaunch('false pipe', plain),
    makeLaunch('true file', plain),
  ];
  for (const other of others) assert.notEqual(describeLaunch(other)[1], whole, JSON.stringify(other.between));
  assert.equal(describeLaunch(others[0]!)[0], surroundings);
  assert.notEqual(describeLaunch(others[5]!)[0], surroundings);
});

test('the command of a hook is the script of the shell next to the host, or the words of a launcher', () => {
  const npx = ['npx', 'switchgear', 'hook', 'claude-code'];
  assert.equal(findHookCommand(makeLaunch('', npx, plain)), 'switchgear hook claude-code');
  assert.equal(findHookCommand(makeLaunch('', npx)), 'npx switchgear hook claude-code');
  assert.equal(findHookCommand(makeLaunch('')), undefined);
  assert.equal(findHookCommand(makeLaunch('', ['sh'])), undefined);
});
