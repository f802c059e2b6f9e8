/** Attacks of an agent on its supervisor: leaving the process tree, and ending or freezing those who watch it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Card } from '../../src/core/card.ts';
import { createTestHome, type StartedProcess } from '../cli/run/run-cli.ts';
import { named, sleeper, until } from '../supervisor/processes.ts';

const home = createTestHome();
after(() => home.clear());
const long = { timeout: 120_000 };

const openCards = async () => JSON.parse((await home.run(['inbox', '--json'])).out) as Card[];

/** The watchdog of a run: its command line names the mark of the run's agent. */
function watchdogsOf({ child }: StartedProcess): readonly number[] {
  return named('runWatchdog').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(`) S ${child.pid} `);
    } catch {
      return false;
    }
  });
}

const ways = {
  'setsid and an empty environment': (command: string) => `setsid env -i ${command} & sleep 1000`,
  'a shell that ends after a second': (command: string) =>
    `sh -c 'setsid env -i ${command} >/dev/null 2>&1 </dev/null & sleep 1.5'; sleep 1000`,
  'a double fork that keeps the output': (command: string) =>
    `(setsid env -i sh -c '${command} & ${command}' &) ; sleep 1000`,
};

for (const [how, makeScript] of Object.entries(ways)) {
  test(`attack 10: a process that leaves the tree by ${how} is ended with the agent`, long, async () => {
    const { command, name } = sleeper();
    const args = ['run', '--quiet', '--no-ask', '--max-duration', '3s', '--grace', '1s'];
    const { code } = await home.run([...args, '--', 'sh', '-c', makeScript(command)]);
    assert.equal(code, 75);
    assert.deepEqual(named(name), []);
  });
}

test('attack 10: the watchdog ends a process that has left the tree, too', long, async () => {
  const { command, name } = sleeper();
  const run = home.start(['run', '--', 'sh', '-c', `setsid env -i ${command} & echo begun; sleep 1000`]);
  await until(() => run.out().includes('begun') && named(name).length === 1);
  await new Promise((resolve) => setTimeout(resolve, 3_000)); // The tree is looked at every second.
  run.child.kill('SIGKILL');
  await run.finished;
  await until(() => named(name).length === 0);
  assert.match((await home.run(['status'])).out, /its supervisor was killed.*none of its processes runs/);
});

test('attack 11: a killed watchdog is replaced and reported, and the next one ends the agent', long, async () => {
  const { command, name } = sleeper();
  const run = home.start(['run', '--', 'sh', '-c', `echo begun; ${command}`]);
  await until(() => run.out().includes('begun') && watchdogsOf(run).length === 1);
  const [first] = watchdogsOf(run);
  process.kill(first!, 'SIGKILL');
  await until(() => run.err().includes('another one has taken its place'));
  await until(() => watchdogsOf(run).length === 1);
  assert.notEqual(watchdogsOf(run)[0], first);
  run.child.kill('SIGKILL');
  await run.finished;
  await until(() => named(name).length === 0);
});

test('attack 11: a suspended watchdog is continued, or replaced', long, async () => {
  const run = home.start(['run', '--', 'sh', '-c', 'echo begun; sleep 1000']);
  await until(() => run.out().includes('begun') && watchdogsOf(run).length === 1);
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // Its first beat.
  const [watchdog] = watchdogsOf(run);
  process.kill(watchdog!, 'SIGSTOP');
  await until(() => /^\d+ \(.*\) T /.test(readFileSync(`/proc/${watchdog}/stat`, 'latin1')));
  await until(() => watchdogsOf(run).length === 1);
  run.child.kill('SIGTERM');
  assert.equal((await run.finished).code, 143);
});

test('attack 11: the card of a lost run says what still runs, and the run can be ended', long, async () => {
  const { command, name } = sleeper();
  const run = home.start(['run', '--', 'sh', '-c', `setsid env -i ${command} & echo begun; sleep 1000`]);
  await until(() => run.out().includes('begun') && named(name).length === 1 && watchdogsOf(run).length === 1);
  await new Promise((resolve) => setTimeout(resolve, 4_000)); // The tree and its record are written.
  const [watchdog] = watchdogsOf(run);
  process.kill(run.child.pid!, 'SIGSTOP'); // It cannot replace its watchdog.
  process.kill(watchdog!, 'SIGKILL');
  process.kill(run.child.pid!, 'SIGKILL');
  await run.finished;
  const { out } = await home.run(['status']);
  assert.match(out, /still running without limits: .*sleep \(\d+\)/);
  const card = (await openCards()).find(({ evidence }) => evidence[0]?.includes('still running'));
  assert.equal(named(name).length, 1);
  const halted = await home.run(['halt', card!.task]);
  assert.deepEqual([halted.code, named(name)], [0, []], halted.err);
});

test('attack 12: a frozen supervisor is continued, and its limits hold', long, async () => {
  const log = join(home.folder, 'steps.log');
  const script = `kill -STOP $PPID; for i in $(seq 60); do echo $i >> ${log}; sleep 0.5; done`;
  const { code, err } = await home.run([
    ...['run', '--quiet', '--no-ask', '--max-duration', '2s', '--', 'sh', '-c', script],
  ]);
  assert.equal(code, 75);
  assert.match(err, /suspended from outside while the agent ran on; the watchdog has continued it/);
  assert.ok(readFileSync(log, 'utf8').trim().split('\n').length < 40);
});

test('attack 12: the tree of a supervisor that is frozen again and again is ended', long, async () => {
  const { command, name } = sleeper();
  const script = `${command} & while :; do kill -STOP $PPID; sleep 0.02; done`;
  const { err } = await home.run(['run', '--quiet', '--no-ask', '--max-duration', '1h', '--', 'sh', '-c', script]);
  assert.match(err, /the watchdog has ended the agent/);
  assert.deepEqual(named(name), []);
});

test('attack 12: supervisor and watchdog frozen together go on with the next command, with a card', long, async () => {
  const { command, name } = sleeper();
  const run = home.start([
    'run',
    '--no-ask',
    '--max-duration',
    '12s',
    '--',
    'sh',
    '-c',
    `echo begun; ${command}; true`,
  ]);
  await until(() => run.out().includes('begun') && watchdogsOf(run).length === 1 && named(name).length === 1);
  for (const pid of [...watchdogsOf(run), run.child.pid!]) process.kill(pid, 'SIGSTOP');
  assert.match((await home.run(['status'])).out, /its supervisor was suspended while the agent ran on without limits/);
  const { code, err } = await run.finished;
  assert.equal(code, 75, err);
  assert.deepEqual(named(name), []);
  assert.match((await home.run(['inbox', 'list'])).out, /its supervisor was suspended/);
});

test('attack 19: what the agent leaves behind is ended after the grace period and named', long, async () => {
  const { command, name } = sleeper();
  const script = `(setsid ${command} >/dev/null 2>&1 &) ; exit 3`;
  const plain = await home.run(['run', '--quiet', '--grace', '1s', '--', 'sh', '-c', script]);
  assert.equal(plain.code, 3);
  assert.match(plain.err, /^switchgear: ended 1 program that the agent left running: sleep \(\d+\)\n$/);
  assert.deepEqual(named(name), []);
  const json = await home.run(['run', '--json', '--grace', '1s', '--', 'sh', '-c', script]);
  const lines = json.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const { code, leftBehind } = lines.find(({ type }) => type === 'run-ended')! as {
    code: number;
    leftBehind: object[];
  };
  assert.equal(code, 3);
  assert.deepEqual(
    leftBehind.map((each) => ({ ...each, pid: 0 })),
    [{ pid: 0, name: 'sleep', how: 'ended' }],
  );
});

test('attack 19: what works on after the agent has ended is ended, with a card', long, async () => {
  const log = join(home.folder, 'after.log');
  const script = `(setsid sh -c 'for i in $(seq 100); do echo $i >> ${log}; sleep 0.2; done' >/dev/null 2>&1 &)`;
  const { code } = await home.run(['run', '--quiet', '--grace', '2s', '--', 'sh', '-c', script]);
  assert.equal(code, 0);
  assert.ok(readFileSync(log, 'utf8').trim().split('\n').length < 50);
  const card = (await openCards()).find(({ id }) => id.startsWith('card-left-'));
  assert.match(card?.evidence[0] ?? '', /ended and left \d programs? running that worked on; ended: .*sh \(\d+\)/);
});

test('attack 19: --leave leaves it and says so; --wait-tree waits for it, within the limits', long, async () => {
  const { command, name } = sleeper();
  const left = await home.run(['run', '--quiet', '--leave', '--', 'sh', '-c', `(setsid ${command} >/dev/null 2>&1 &)`]);
  const pids = named(name);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  assert.deepEqual([left.code, pids.length], [0, 1]);
  assert.match(left.err, /^switchgear: the agent ended and left 1 program running: sleep \(\d+\)\n$/);
  const late = await home.run(['run', '--quiet', '--wait-tree', '--', 'sh', '-c', '(sleep 2; echo late) & echo soon']);
  assert.deepEqual([late.code, late.out], [0, 'soon\nlate\n']);
  const limited = await home.run([
    ...['run', '--quiet', '--no-ask', '--wait-tree', '--max-duration', '2s', '--grace', '1s'],
    ...['--', 'sh', '-c', `(setsid ${command} >/dev/null 2>&1 &) ; exit 5`],
  ]);
  assert.deepEqual([limited.code, named(name)], [5, []]);
  assert.match(limited.err, /ended 1 program that the agent left running \(.*2 s.*\): sleep/);
});

const cannotContain = spawnSync('unshare', ['--user', '--pid', '--fork', '--mount-proc', 'true']).status !== 0;

test('attack 10: with --contain nothing outlives the agent, and the agent sees no process outside', {
  ...long,
  skip: cannotContain && 'this system allows no PID namespace',
}, async () => {
  const { command, name } = sleeper();
  const leaving = `(setsid env -i ${command} </dev/null >/dev/null 2>&1 &)`;
  const script = `${leaving}; kill -STOP $PPID; ls -d /proc/[0-9]* | wc -l; exit 4`;
  const { code, out, err } = await home.run(['run', '--quiet', '--contain', '--', 'sh', '-c', script]);
  assert.deepEqual([code, err.replace(/.*kill.*\n/, '')], [4, '']);
  assert.ok(Number(out) < 10, out);
  await until(() => named(name).length === 0);
  const halted = await home.run([
    ...['run', '--quiet', '--no-ask', '--contain', '--max-duration', '1s', '--', 'sh', '-c', `${command} & wait`],
  ]);
  assert.deepEqual([halted.code, named(name)], [75, []]);
});

test('attack 10: where a PID namespace is not possible, --contain refuses with the reason', long, async () => {
  const { code, out, err } = await home.run(['run', '--contain', '--', 'echo', 'begun'], { PATH: home.folder });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /--contain cannot be used here \(bwrap is not installed; unshare is not installed\)/);
});
