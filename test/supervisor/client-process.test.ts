/** The client of a proxy or a listener, by the processes above. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { type ClientProcess, findConnectedClient, findStartingClient } from '../../src/supervisor/client-process.ts';
import { readProcessChain } from '../../src/supervisor/process-chain.ts';
import { listChildren, readCommandLine } from '../../src/supervisor/process-table.ts';
import { until } from './processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-client-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const skip = process.platform !== 'linux' && 'the files of other processes are known on Linux only';

/** A program that starts another one without input, or with its own. */
const startWith = (stdio: string, ...words: readonly string[]) =>
  `require('node:child_process').spawn(${words.map((word) => JSON.stringify(word)).join()}, { stdio: '${stdio}' })`;

const sleepAs = (name: string): string => {
  const path = join(folder, name);
  symlinkSync('/bin/sleep', path);
  return path;
};

const script = (name: string, program: string): string => {
  const path = join(folder, name);
  writeFileSync(path, `${program} 60\ntrue\n`);
  return path;
};

/** Starts a program that has a pipe as its input; returns the process without children below it. */
function start(program: string, ...args: readonly string[]): Promise<number> {
  return findBelow(spawn(program, args, { stdio: ['pipe', 'ignore', 'inherit'], detached: true }));
}

/** Types a command in a shell at a terminal. */
function typeCommand(command: string): Promise<number> {
  const child = spawn('script', ['-qec', 'sh', '/dev/null'], { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
  child.stdin.write(`${command}\n`);
  return findBelow(child);
}

async function findBelow(child: ChildProcess): Promise<number> {
  after(() => process.kill(-child.pid!, 'SIGKILL'));
  const findLast = (pid: number): number => {
    const [below] = listChildren(pid);
    return below === undefined ? pid : findLast(below);
  };
  await until(() => readCommandLine(findLast(child.pid!)).at(-1) === '60');
  return findLast(child.pid!);
}

const namesOf = (client: ClientProcess | undefined) =>
  client?.processes.map(({ pid }) =>
    readCommandLine(pid)
      .slice(0, 2)
      .map((word) => basename(word))
      .join(' '),
  );

test('a script without a pipe as its input is the client of the proxy in it', { skip }, async () => {
  const path = script('nightly.sh', sleepAs('proxy'));
  const pid = await start(process.execPath, '-e', startWith('ignore', 'sh').replace(' {', ` ['${path}'], {`));
  assert.deepEqual(namesOf(findStartingClient(readProcessChain(pid))), ['sh nightly.sh']);
});

test('a program whose name begins with that of a terminal multiplexer is a client', { skip }, async () => {
  const path = join(folder, 'tmuxai');
  symlinkSync(process.execPath, path);
  const code = startWith('pipe', 'sleep').replace(' {', " ['60'], {");
  const pid = await start(path, '-e', code);
  assert.deepEqual(namesOf(findStartingClient(readProcessChain(pid))), ['tmuxai -e']);
});

test('a script is an agent if it sends its requests by curl, but not if it starts a program that does', {
  skip,
}, async () => {
  const byCurl = await start('sh', script('agent.sh', sleepAs('curl')));
  assert.deepEqual(namesOf(findConnectedClient([byCurl])), ['curl 60', 'sh agent.sh']);
  const byProgram = await start('sh', script('start.sh', sleepAs('program')));
  assert.deepEqual(namesOf(findConnectedClient([byProgram])), ['program 60']);
});

test('a program that sends its requests by curl is a client', { skip }, async () => {
  const pid = await start(process.execPath, '-e', startWith('ignore', sleepAs('wget')).replace(' {', " ['60'], {"));
  assert.deepEqual(namesOf(findConnectedClient([pid])), ['wget 60', 'node -e']);
});

test('a shell that reads its commands from a file is an agent at a terminal, too', { skip }, async () => {
  const path = script('typed.sh', sleepAs('xh'));
  const pid = await start('script', '-qec', `sh < '${path}'`, '/dev/null');
  assert.deepEqual(namesOf(findConnectedClient([pid])), ['xh 60', 'sh']);
});

test('a shell in which a person types commands is no client and no application', { skip }, async () => {
  const path = join(folder, 'https');
  symlinkSync(process.execPath, path);
  const client = findConnectedClient([await typeCommand(`${path} -e 'setTimeout(Date, 6e4)' -- --type=a 60`)]);
  assert.deepEqual([namesOf(client), client?.application], [['https -e'], undefined]);
});
