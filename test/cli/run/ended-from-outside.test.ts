/** Everything that can end `switchgear run` from outside: each ends cleanly, says so, and leaves nothing behind. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { endOnError, launch } from '../../../src/cli/run/launch.ts';
import { parseRunOptions } from '../../../src/cli/run/options.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { isAlive, readStoredRun } from '../../../src/supervisor/run-record.ts';
import { named, sleeper, until } from '../../supervisor/processes.ts';
import { createTestHome } from './run-cli.ts';

const home = createTestHome();
after(() => home.clear());

const long = { timeout: 120_000 };

test('the first Ctrl-C is passed on, and the agent shuts down by itself', long, async () => {
  const polite = "trap 'echo goodbye; exit 0' INT; echo begun; while :; do sleep 0.05; done";
  const { child, finished, out } = home.start(['run', '--', 'sh', '-c', polite]);
  await until(() => out().includes('begun'));
  child.kill('SIGINT');
  const { code, out: printed, err } = await finished;
  assert.deepEqual([code, printed], [130, 'begun\ngoodbye\n']);
  assert.match(err, /press Ctrl-C again to kill it at once\nswitchgear: the agent was ended\n$/);
});

test('a second Ctrl-C kills an agent that has not ended', long, async () => {
  const { command, name } = sleeper();
  const stubborn = `trap '' INT TERM; echo begun; ${command} & while :; do sleep 1; done`;
  const { child, finished, out, err } = home.start(['run', '--grace', '1h', '--', 'sh', '-c', stubborn]);
  await until(() => out().includes('begun'));
  child.kill('SIGINT');
  await until(() => err().includes('again'));
  child.kill('SIGINT');
  const { code, err: told } = await finished;
  assert.equal(code, 130);
  assert.match(told, /the agent was ended by force\n$/);
  assert.deepEqual(named(name), []);
});

for (const [signal, expected] of [
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  test(`${signal} ends the agent and every process started by the agent`, long, async () => {
    const { command, name } = sleeper();
    const { child, finished, out } = home.start(['run', '--', 'sh', '-c', `setsid ${command} & echo begun; wait`]);
    await until(() => out().includes('begun') && named(name).length === 1);
    child.kill(signal);
    assert.equal((await finished).code, expected);
    assert.deepEqual(named(name), []);
  });
}

test('when the output pipe is closed, the agent is ended', long, async () => {
  const { child, finished, out } = home.start(['run', '--', 'sh', '-c', 'while :; do echo more; sleep 0.01; done']);
  await until(() => out().includes('more'));
  child.stdout.destroy();
  const { code, err } = await finished;
  assert.equal(code, 141);
  assert.match(err, /^switchgear: the reader of the output is gone, so the agent was ended\n$/);
});

test('a blocked reader of the output delays the agent, and the limits still apply', long, async () => {
  const flood = ['run', '--max-duration', '2s', '--', 'sh', '-c', 'while :; do echo more and more and more; done'];
  const { child, finished, err } = home.start(flood);
  child.stdout.pause();
  await until(() => err().includes('halted'));
  child.stdout.resume();
  const { code } = await finished;
  assert.equal(code, 75);
});

test('a large output is passed on completely, with bounded memory', long, async () => {
  const lines = 250_000;
  // Lines that are all alike would be a loop.
  const program = `const line = () => (left + ' ' + left.toString(36)).padEnd(999, 'x') + '\\n'; let left = ${lines};
    const { stdout } = process;
    const more = () => { while (left-- > 0) if (!stdout.write(line())) return stdout.once('drain', more); };
    more();`;
  const { child, finished } = home.start(['run', '--raw', '--', process.execPath, '-e', program]);
  let bytes = 0;
  let peakKb = 0;
  child.stdout.removeAllListeners('data');
  child.stdout.on('data', (data: Buffer) => {
    bytes += data.length;
    if (bytes % 64 < 16) peakKb = Math.max(peakKb, peakOf(child.pid!));
  });
  const { code } = await finished;
  assert.deepEqual([code, bytes], [0, lines * 1_000]);
  assert.ok(peakKb > 0 && peakKb < 150 * 1024, `${peakKb} kB`);
});

test('a line of ten megabytes, an incomplete line and invalid UTF-8 cause no error', long, async () => {
  const odd = `process.stdout.write('x'.repeat(10e6) + '\\n'); process.stdout.write(Buffer.from([255, 254, 10, 123]));`;
  const { code, out, err } = await home.run(['run', '--', process.execPath, '-e', odd]);
  const told = 'switchgear: too long to read whole: 1 line of the agent; their beginnings were counted\n';
  assert.deepEqual([code, out.length, err], [0, 10e6 + 5, told]);
});

test('a paused run is suspended until it is resumed', long, async () => {
  const { finished, out } = home.start([
    'run',
    '--',
    'sh',
    '-c',
    'n=0; while [ ! -e stop ]; do n=$((n+1)); echo $n; sleep 0.1; done',
  ]);
  await until(() => out().includes('2\n'));
  const { out: list } = await home.run(['status', '--json']);
  const [task] = (JSON.parse(list) as { tasks: { id: string; state: string }[] }).tasks.filter(
    ({ state }) => state === 'running',
  );
  assert.equal((await home.run(['pause', task!.id])).code, 0);
  // The supervisor has the script on its command line, too; it goes on.
  const states = () => named('n=0; while').map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0]);
  await until(() => states().includes('T'));
  const before = out();
  assert.equal((await home.runAtTerminal(['resume', task!.id])).code, 0);
  await until(() => out().length > before.length && !states().includes('T'));
  await home.run(['halt', task!.id, '--reason', 'enough']);
  const { code, err } = await finished;
  assert.equal(code, 75);
  assert.match(err, /halted sh: an operator halted the task: enough/);
});

test('when the supervisor fails, the agent is ended before the error is reported', long, async () => {
  const { command, name } = sleeper();
  const terminal = { out() {}, err() {}, cwd: home.folder, env: { PATH: process.env.PATH } };
  const options = parseRunOptions(['--', 'sh', '-c', `echo begun; setsid ${command} & ${command}`], terminal);
  const launched = await launch(memoryStore(systemClock), options, terminal, options.command, 's-1');
  await until(() => named(name).length >= 2);
  const broken = new Error('the store is gone');
  await assert.rejects(
    endOnError(launched, () => Promise.reject(broken)),
    broken,
  );
  assert.deepEqual(named(name), []);
});

test('a run is written to the store before its agent can call a hook', long, async () => {
  const store = sqliteStore({ path: join(home.folder, 'launched.db') });
  const terminal = { out() {}, err() {}, cwd: home.folder, env: { PATH: process.env.PATH } };
  const options = parseRunOptions(['--', 'true'], terminal);
  const launched = await launch(store, options, terminal, options.command, 's-1');
  const record = await readStoredRun(store, launched.record.task);
  assert.ok(record?.state === 'running' && isAlive(record.owner));
  await assert.rejects(endOnError(launched, () => Promise.reject(new Error('over'))));
  store.close();
});

test('when the supervisor is killed the agent ends, and the next command reports the lost run', long, async () => {
  const other = createTestHome();
  try {
    const { child, finished, out } = other.start([
      'run',
      '--',
      'claude',
      '-p',
      'calls 3,silent',
      '--output-format',
      'stream-json',
    ]);
    await until(() => out().includes('call-session-1-3'));
    child.kill('SIGKILL');
    assert.equal((await finished).signal, 'SIGKILL');
    await until(() => named('fake-agent.ts\0claude\0-p\0calls 3,silent').length === 0);
    const { out: status } = await other.run(['status']);
    assert.match(status, /claude-code: its supervisor was killed/);
    assert.doesNotMatch(status, /running/);
    const cards = JSON.parse((await other.run(['inbox', 'list', '--json'])).out) as { id: string }[];
    assert.equal(cards.length, 1);
    const again = await other.run(['inbox', 'retry', cards[0]!.id]);
    assert.equal(again.code, 0);
    assert.deepEqual(other.startedCommands().at(-1)?.slice(0, 4), [
      '-p',
      'Go on where you stopped.',
      '--resume',
      'session-1',
    ]);
  } finally {
    other.clear();
  }
});

function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // It has just ended.
  }
}
