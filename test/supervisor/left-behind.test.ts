/** Programs that an agent has left running: what is said of them was looked up. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../src/platform/system-clock.ts';
import { formatProcesses, handleLeftBehind } from '../../src/supervisor/left-behind.ts';
import { findProcess, type ProcessInfo } from '../../src/supervisor/process-table.ts';
import type { ProcessTree } from '../../src/supervisor/process-tree.ts';
import { until } from './processes.ts';

const seconds = { timeout: 60_000 };

function startSleeper(): { readonly child: ChildProcess; readonly info: ProcessInfo } {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  return { child, info: findProcess(child.pid!)! };
}

/** A tree that finds these processes, and first those of `scans`. */
function treeOf(processes: readonly ProcessInfo[], scans: (readonly ProcessInfo[])[] = []): ProcessTree {
  let isSettled = true;
  return {
    root: undefined,
    setRoot() {},
    addMembers() {},
    scan() {
      const next = scans.shift();
      isSettled = next === undefined || next.length > 0;
      return (next ?? processes).filter(({ pid, began }) => findProcess(pid)?.began === began);
    },
    get isSettled() {
      return isSettled;
    },
    scanChildren() {},
    findUnmarked: () => [],
    hasRoot: () => false,
  };
}

const never = new AbortController().signal;
const notEnded = () => undefined;

test('attack 19: a program that a limit has ended at once is named as ended', seconds, async () => {
  const { child, info } = startSleeper();
  const stop = new AbortController();
  const gone = once(child, 'exit');
  systemClock.after(600, () => {
    stop.abort();
    child.kill('SIGKILL');
    // The program is gone before anybody looks again, as on a busy machine.
    for (let tries = 0; findProcess(info.pid)?.began === info.began && tries < 1e6; tries++);
  });
  const options = { mode: 'wait', graceMs: 60_000, stop: stop.signal, ended: () => gone } as const;
  const found = await handleLeftBehind(treeOf([info]), systemClock, options);
  assert.deepEqual(found?.processes, [{ pid: info.pid, name: 'sleep', how: 'ended' }]);
});

test('attack 19: a program that the first scan misses while it starts is found', seconds, async () => {
  const { child, info } = startSleeper();
  const tree = treeOf([info], [[], []]);
  const options = { mode: 'end', graceMs: 300, stop: never, ended: notEnded } as const;
  const found = await handleLeftBehind(tree, systemClock, options);
  assert.deepEqual(found?.processes, [{ pid: info.pid, name: 'sleep', how: 'ended' }]);
  await until(() => child.signalCode === 'SIGTERM');
});

test('attack 19: a program that cannot be ended is not named as ended', seconds, async () => {
  // The first process of the system, as a process of another user does, takes no signal of this test.
  const own = findProcess(process.pid)!;
  const tree: ProcessTree = { ...treeOf([]), scan: () => [{ ...own, pid: 2 ** 30, name: 'other' }] };
  const options = { mode: 'end', graceMs: 300, stop: never, ended: notEnded } as const;
  const found = await handleLeftBehind(tree, systemClock, options);
  assert.deepEqual(found?.processes, [{ pid: 2 ** 30, name: 'other', how: 'left' }]);
});

test('a program that ends within the grace period has finished', seconds, async () => {
  const { child, info } = startSleeper();
  systemClock.after(600, () => child.kill('SIGKILL'));
  const options = { mode: 'end', graceMs: 30_000, stop: never, ended: notEnded } as const;
  const found = await handleLeftBehind(treeOf([info]), systemClock, options);
  assert.deepEqual(found?.processes, [{ pid: info.pid, name: 'sleep', how: 'finished' }]);
  assert.equal(found.worked, false);
});

test('tools that end with their agent are not reported, and names are plain and few', seconds, async () => {
  const options = { mode: 'end', graceMs: 300, stop: never, ended: notEnded } as const;
  assert.equal(await handleLeftBehind(treeOf([]), systemClock, options), undefined);
  const many = Array.from({ length: 30 }, (_, at) => ({ pid: at, name: 'x' }));
  assert.match(formatProcesses(many), /^x \(0\), .* and \d+ more$/);
});
