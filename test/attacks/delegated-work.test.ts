/** Attacks on counts: work that is delegated, and calls that share an id. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, refusalOf, type Task } from '../../src/index.ts';

const free = { maxToolCalls: 20 };

function count() {
  let calls = 0;
  const gear = createSwitchgear({ policy: { task: free, loop: { enabled: false } }, log: 'silent' });
  const tool = gear.guard('look', (_n: number) => ++calls);
  return { gear, tool, calls: () => calls };
}

test('attack 22: workers that send workers make ten times the calls of the root, and then the root halts', async () => {
  const { gear, tool, calls } = count();
  let n = 0;
  const work = async (depth: number): Promise<unknown> => {
    if (depth > 0)
      for (let each = 0; each < 10; each++) await gear.delegate(`w${depth}-${each}`, () => work(depth - 1));
    for (let each = 0; each < 10; each++) tool(n++);
    return { ok: true };
  };
  const result = await gear.task({}, () => work(3));
  assert.equal(result.status, 'halted');
  assert.equal(result.status === 'halted' && result.halt.code, 'tree_call_limit');
  assert.equal(result.status === 'halted' && result.halt.counters.limit, 200);
  assert.ok(calls() <= 200 + 20, `${calls()} calls`);
});

test('attack 22: parallel workers cannot pass the sum together', async () => {
  const { gear, calls } = count();
  let made = 0;
  const slow = gear.guard('slow', async (_n: number) => {
    made++;
    await new Promise((resolve) => setImmediate(resolve));
    return made;
  });
  const result = await gear.task({}, () =>
    Promise.all(
      Array.from({ length: 18 }, (_, worker) =>
        gear.delegate(`w${worker}`, () => Promise.all(Array.from({ length: 18 }, (_, n) => slow(worker * 100 + n)))),
      ),
    ),
  );
  assert.equal(result.status === 'halted' && result.halt.code, 'tree_call_limit');
  assert.equal(made, 200);
  assert.equal(calls(), 0);
});

test('attack 22: the sixth level of delegation is refused by default', async () => {
  const { gear } = count();
  let deepest = 0;
  const deeper = async (level: number): Promise<unknown> => {
    deepest = Math.max(deepest, level);
    const answer = await gear.delegate(`level-${level + 1}`, () => deeper(level + 1));
    return isRefused(answer) ? refusalOf(answer)?.code : answer;
  };
  const result = await gear.task({}, () => deeper(0));
  assert.equal(deepest, 5);
  assert.equal(result.status === 'done' && result.value, 'delegation_limit');
});

test('attack 22: child tasks that the program opens itself are no delegated work', async () => {
  const { gear, tool, calls } = count();
  let n = 0;
  const result = await gear.task({}, async () => {
    for (let child = 0; child < 30; child++) {
      await gear.task({}, () => {
        for (let each = 0; each < 19; each++) tool(n++);
      });
    }
    const nest = (level: number): Promise<unknown> =>
      level === 0 ? gear.delegate('worker', () => ({ ok: true })) : gear.task({}, () => nest(level - 1));
    return nest(8);
  });
  assert.equal(result.status, 'done');
  assert.equal(calls(), 570);
});

test('attack 22: the sum follows a raised limit of the root, and a retry raises the sum', async () => {
  const { gear, tool } = count();
  let n = 0;
  const root: Task = gear.startTask({ limits: { maxTreeCalls: 5 } });
  await root.run(() => gear.delegate('worker', () => void Array.from({ length: 6 }, () => tool(n++))));
  assert.equal(root.halt?.code, 'tree_call_limit');
  assert.match(root.halt?.message ?? '', /tool calls of delegated work: 6 of 5/);
  assert.match(root.halt?.remediation ?? '', /Delegate no more work/);
  assert.equal(gear.retryOptions(root.id)?.limits?.maxTreeCalls, 10);
  const raised = gear.startTask({ parent: null, limits: { maxToolCalls: 40 } });
  for (let worker = 0; worker < 21; worker++) {
    await raised.run(() => gear.delegate(`w${worker}`, () => void Array.from({ length: 15 }, () => tool(n++))));
  }
  assert.equal(raised.halt, undefined);
  raised.end();
});
