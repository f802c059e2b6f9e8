/** A watcher beside somebody who can refuse calls: loops that those see are theirs, as long as they do something. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountEvents } from '../../../src/agents/index.ts';
import { loopsLeftCallsMax } from '../../../src/core/limits.ts';
import { createSwitchgear } from '../../../src/index.ts';

/** Books on a task of which others refuse the calls of some tools. */
function superviseWithHooks(theirs: readonly string[]) {
  const gear = createSwitchgear({ env: {}, log: 'silent' });
  const task = gear.startTask({ parent: null, limits: { maxToolCalls: 500 } });
  const accounting = accountEvents(gear, task, { isGuardedByHooks: (tool) => theirs.includes(tool) });
  let calls = 0;
  return {
    /** Makes a call; false once it is halted. */
    call(tool: string, input: unknown, ok: boolean, output: string, text?: string): boolean {
      const id = `c${++calls}`;
      if (text !== undefined) accounting.account({ type: 'assistant', text, toolUse: true });
      accounting.account({ type: 'tool_use', id, name: tool, input });
      accounting.account({ type: 'tool_result', id, ok, output });
      return accounting.halt === undefined;
    },
    calls: () => task.snapshot().toolCalls,
    accounting,
  };
}

const fails = ['Bash', { command: 'cat missing' }, false, 'no such file'] as const;

test('a loop of a tool of theirs is left to them, and one of another tool is halted as ever', () => {
  const theirs = superviseWithHooks(['Bash']);
  for (let n = 0; n < 8; n++) assert.ok(theirs.call(...fails), `call ${n + 1}`);
  const ours = superviseWithHooks(['Read']);
  while (ours.call(...fails));
  assert.equal(ours.calls(), 6);
});

test('it is halted all the same where they let it go on', () => {
  const { call, calls, accounting } = superviseWithHooks(['Bash']);
  while (call(...fails)) assert.ok(calls() < 50);
  assert.deepEqual([calls(), accounting.halt?.code], [6 + loopsLeftCallsMax, 'tool_loop']);
});

test('it is halted also where other calls that bring something come in between', () => {
  const pages = 'oak fern moss pine lily reed rose iris sage dill mint leek kale corn rye oat'.split(' ');
  const [alone, left] = [superviseWithHooks([]), superviseWithHooks(['Bash', 'Read'])];
  for (const { call } of [alone, left]) {
    for (const page of pages) if (!call(...fails) || !call('Read', { page }, true, `${page} grows here`)) break;
  }
  assert.equal(left.accounting.halt?.code, 'tool_loop');
  assert.equal(left.calls(), alone.calls() + loopsLeftCallsMax);
});

test('an agent that moved on may run into the next loop: that is left to them, too', () => {
  const { call } = superviseWithHooks(['Bash', 'Read']);
  for (let loop = 0; loop < 4; loop++) {
    for (let n = 0; n < 7; n++) assert.ok(call('Bash', { command: `cat ${loop}` }, false, `no file ${'abcd'[loop]}`));
    for (const page of ['tulip', 'river', 'stone', 'cloud']) {
      assert.ok(call('Read', { page, loop }, true, `${page} is what page ${'wxyz'[loop]} is about`));
    }
  }
});

test('what shows by its words alone, which they do not hear, is halted here', () => {
  const { call, calls, accounting } = superviseWithHooks(['Search']);
  const answers = 'oak fern moss pine lily reed rose iris sage dill mint leek kale corn rye oat'.split(' ');
  for (const answer of answers) {
    const input = { query: 'how many plants grow in the garden behind the old house', page: answer };
    if (!call('Search', input, true, `found: ${answer} ${answer}`, 'I look into the garden once more.')) break;
  }
  assert.equal(accounting.halt?.counters.evidence, 'near_call');
  assert.ok(calls() <= 11, `${calls()} calls`);
});
