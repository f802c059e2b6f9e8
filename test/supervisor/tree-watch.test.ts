/** A tree that is looked at while it lives. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../src/platform/system-clock.ts';
import { endTree } from '../../src/supervisor/end-tree.ts';
import { makeMarkName, type ProcessTree, processTree, type TreeMember } from '../../src/supervisor/process-tree.ts';
import { watchTree } from '../../src/supervisor/tree-watch.ts';
import { named, sleeper, until } from './processes.ts';

test('attack 10: a process that leaves the tree without its mark is reported, and found after its parent', async () => {
  const { command, name } = sleeper();
  const mark = makeMarkName(`watch-${process.pid}`);
  const script = `setsid env -i ${command} & sleep 3; echo ready`;
  const child = spawn('sh', ['-c', script], { detached: true, env: { ...process.env, [mark]: '1' }, stdio: 'ignore' });
  const tree = processTree(mark, true);
  tree.setRoot(child.pid!);
  let reported: readonly TreeMember[] = [];
  const stop = watchTree(tree, systemClock, (members) => {
    reported = members;
  });
  const gone = once(child, 'exit');
  await until(() => reported.length === 1);
  assert.deepEqual([reported[0]?.[0]], named(name));
  await gone;
  stop();
  assert.deepEqual(
    tree.scan().map(({ pid }) => pid),
    named(name),
  );
  await endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 1_000 });
  assert.deepEqual(named(name), []);
});

test('a watch that is stopped looks no more', async () => {
  let looks = 0;
  const tree: ProcessTree = {
    ...{ root: undefined, isSettled: true, setRoot() {}, addMembers() {} },
    ...{ scan: () => [], findUnmarked: () => [], hasRoot: () => false },
    scanChildren: () => void looks++,
  };
  const stop = watchTree(tree, systemClock, () => undefined);
  await until(() => looks > 0);
  stop();
  const before = looks;
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(looks, before);
});
