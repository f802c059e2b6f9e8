/** Trees of real processes: what they leave behind is found, and nothing of them survives. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from '../../src/platform/system-clock.ts';
import { endTree, signalTree } from '../../src/supervisor/end-tree.ts';
import { findProcess, listProcesses } from '../../src/supervisor/process-table.ts';
import { makeMarkName, type ProcessTree, processTree } from '../../src/supervisor/process-tree.ts';
import { marked, until } from './processes.ts';

let runs = 0;

/** Starts a shell script as `run` would, and waits for it to say that it is ready. */
async function planted(script: string): Promise<{ tree: ProcessTree; mark: string; child: ChildProcess }> {
  const mark = makeMarkName(`test-${process.pid}-${++runs}`);
  const env = { ...process.env, [mark]: '1' };
  const child = spawn('sh', ['-c', script], { detached: true, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const tree = processTree(mark, true);
  tree.setRoot(child.pid!);
  await once(child.stdout!, 'data');
  return { tree, mark, child };
}

const seconds = { timeout: 60_000 };

test('a tool in a separate process session belongs to the tree, also after its parent has ended', seconds, async () => {
  const { tree, mark } = await planted(
    'setsid sh -c "sleep 1000 & sleep 1000" & (setsid sleep 1000 &) ; echo ready; wait',
  );
  await until(() => marked(mark).length === 6 || marked(mark).length === 5);
  assert.deepEqual(
    tree
      .scan()
      .map(({ pid }) => pid)
      .toSorted(),
    [...marked(mark)].toSorted(),
  );
  const { total: met, surviving: left } = await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 5_000 });
  assert.ok(met >= 4);
  assert.deepEqual([left, marked(mark)], [[], []]);
});

test('a process that ignores the signal is killed after the grace period', seconds, async () => {
  const { tree, mark, child } = await planted("trap '' TERM INT; echo ready; while :; do sleep 1; done");
  const gone = once(child, 'exit');
  const { killed, surviving: left } = await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 200 });
  assert.ok(killed >= 1);
  assert.deepEqual([left, marked(mark)], [[], []]);
  assert.deepEqual(await gone, [null, 'SIGKILL']);
});

test('a process that ends when asked is not killed', seconds, async () => {
  const { tree, child } = await planted("trap 'exit 7' INT; echo ready; while :; do sleep 0.05; done");
  const gone = once(child, 'exit');
  assert.deepEqual((await endTree(tree, systemClock, { signal: 'SIGINT', graceMs: 30_000 })).killed, 0);
  assert.deepEqual(await gone, [7, null]);
});

test('an aborted wait kills the processes at once', seconds, async () => {
  const { tree, mark } = await planted("trap '' TERM INT; echo ready; while :; do sleep 1; done");
  const hurry = AbortSignal.abort();
  const { killed } = await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 3_600_000, hurry });
  assert.ok(killed >= 1);
  assert.deepEqual(marked(mark), []);
});

test('a process without its environment still belongs to the tree if an earlier scan found it', seconds, async () => {
  const script = 'env -i setsid sleep 1000 & tool=$!; echo ready; read line < /dev/zero; kill $tool';
  const { tree, child } = await planted(script);
  let tool: number | undefined;
  await until(() => {
    tool = tree.scan().find(({ pid, session }) => session === pid && pid !== child.pid)?.pid;
    return tool !== undefined;
  });
  const gone = once(child, 'exit');
  process.kill(child.pid!, 'SIGKILL');
  await gone;
  assert.deepEqual(
    tree.scan().some(({ pid }) => pid === tool),
    true,
  );
  await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 2_000 });
  assert.equal(findProcess(tool!), undefined);
});

test('a process tree that keeps starting processes is ended completely', seconds, async () => {
  const forks =
    'n=0; while [ $n -lt 200 ]; do (setsid sleep 1000 &); n=$((n+1)); [ $n -eq 3 ] && echo ready; done; wait';
  const { tree, mark } = await planted(`trap '' TERM; ${forks}`);
  const { surviving: left } = await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 100 });
  assert.deepEqual([left, marked(mark)], [[], []]);
});

test('a process tree can be suspended, resumed, and ended while suspended', seconds, async () => {
  const { tree, child } = await planted('echo ready; exec sleep 1000');
  signalTree(tree, 'SIGSTOP');
  signalTree(tree, 'SIGCONT');
  signalTree(tree, 'SIGSTOP');
  const gone = once(child, 'exit');
  assert.equal((await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 30_000 })).killed, 0);
  assert.deepEqual(await gone, [null, 'SIGTERM']);
});

test('a root pid without a running process gives an empty process tree', () => {
  const tree = processTree(makeMarkName('nobody'), false);
  tree.setRoot(2 ** 30); // Nobody has it.
  assert.deepEqual([tree.root, tree.scan(), tree.hasRoot()], [undefined, [], false]);
});

test('the process list contains the current process with its parent', () => {
  const own = listProcesses().find(({ pid }) => pid === process.pid);
  assert.equal(own?.parent, process.ppid);
  assert.deepEqual(own, findProcess(process.pid));
});

test('children of a process that has got the id of an ended member do not join the tree', seconds, async () => {
  const { tree, child } = await planted('sleep 1000 & echo ready; wait');
  const other = processTree(makeMarkName('other'), false);
  other.addMembers([[child.pid!, `${Number(findProcess(child.pid!)!.began) - 1}`]]);
  other.scanChildren();
  assert.deepEqual(other.scan(), []);
  await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 1_000 });
});

test('the session of a process that has got the id of an ended command does not join the tree', seconds, async () => {
  const { tree, child } = await planted('sleep 1000 & echo ready; wait');
  const other = processTree(makeMarkName('other'), true);
  other.setRoot(child.pid!, `${Number(findProcess(child.pid!)!.began) - 1}`);
  assert.deepEqual([other.hasRoot(), other.scan()], [false, []]);
  await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 1_000 });
});

test('a command that has ended before anybody looked is known, with its session', seconds, async () => {
  const child = spawn('sh', ['-c', '(sleep 1000 &); exit 0'], { detached: true, stdio: 'ignore' });
  const isZombie = () => /^\d+ \(.*\) Z /.test(readFileSync(`/proc/${child.pid}/stat`, 'latin1'));
  while (!isZombie()); // Its exit is read when the event loop turns.
  const tree = processTree(makeMarkName('unmarked'), true);
  tree.setRoot(child.pid!);
  const names = () => tree.scan().map(({ name }) => name);
  while (names()[0] === 'sh') await new Promise(setImmediate); // Forked, and not yet the program.
  assert.deepEqual(names(), ['sleep']);
  await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 1_000 });
});
