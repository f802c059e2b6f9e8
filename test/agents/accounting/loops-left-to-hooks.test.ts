/** A watcher beside somebody who can refuse calls: loops that those see are theirs, as long as they do something. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountEvents } from '../../../src/agents/index.ts';
import { loopsLeftCallsMax } from '../../../src/core/limits.ts';
import { createSwitchgear } from '../../../src/index.ts';

/** Books on a task of which others refuse the calls of some tools. */
function superviseWithHooks(theirs: readonly string[], loop: Readonly<Record<string, unknown>> = {}) {
  const gear = createSwitchgear({ env: {}, log: 'silent', policy: { loop } });
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
    cards: () => gear.cards.list().map(({ kind, counters }) => [kind, counters.evidence]),
    accounting,
  };
}

const fails = ['Bash', { command: 'cat missing' }, false, 'no such file'] as const;

test('a loop of a tool covered by hooks is left to the hooks, and a loop of another tool is halted', () => {
  const theirs = superviseWithHooks(['Bash']);
  for (let n = 0; n < 8; n++) assert.ok(theirs.call(...fails), `call ${n + 1}`);
  const ours = superviseWithHooks(['Read']);
  while (ours.call(...fails));
  assert.equal(ours.calls(), 6);
});

test('a loop that the hooks do not stop is halted by the run', () => {
  const { call, calls, accounting } = superviseWithHooks(['Bash']);
  while (call(...fails)) assert.ok(calls() < 50);
  assert.deepEqual([calls(), accounting.halt?.code], [6 + loopsLeftCallsMax, 'tool_loop']);
});

test('a loop that the hooks do not stop is halted also with useful calls in between', () => {
  const pages = 'oak fern moss pine lily reed rose iris sage dill mint leek kale corn rye oat'.split(' ');
  const [alone, left] = [superviseWithHooks([]), superviseWithHooks(['Bash', 'Read'])];
  for (const { call } of [alone, left]) {
    for (const page of pages) if (!call(...fails) || !call('Read', { page }, true, `${page} grows here`)) break;
  }
  assert.equal(left.accounting.halt?.code, 'tool_loop');
  assert.equal(left.calls(), alone.calls() + loopsLeftCallsMax);
});

test('each new loop after useful calls is left to the hooks again', () => {
  const { call } = superviseWithHooks(['Bash', 'Read']);
  for (let loop = 0; loop < 4; loop++) {
    for (let n = 0; n < 7; n++) assert.ok(call('Bash', { command: `cat ${loop}` }, false, `no file ${'abcd'[loop]}`));
    for (const page of ['tulip', 'river', 'stone', 'cloud']) {
      assert.ok(call('Read', { page, loop }, true, `${page} is what page ${'wxyz'[loop]} is about`));
    }
  }
});

test('a loop that only the texts of the agent show, which hooks do not get, is a suspicion of the run', () => {
  const { call, calls, accounting, cards } = superviseWithHooks(['Search']);
  const answers = 'oak fern moss pine lily reed rose iris sage dill mint leek kale corn rye oat'.split(' ');
  for (const answer of answers) {
    const input = { query: 'how many plants grow in the garden behind the old house', page: answer };
    assert.ok(call('Search', input, true, `found: ${answer} ${answer}`, 'I look into the garden once more.'), answer);
    assert.deepEqual(cards(), calls() < 6 ? [] : [['notice', 'near_call']], `call ${calls()}`);
  }
  assert.equal(accounting.halt, undefined);
});

test('the same text a fourth time, across calls with nothing new, is halted by the run if the policy says so', () => {
  const says = ['I look into the garden once more.', 'The cellar may have an answer, so I go there.'];
  const play = (across: boolean, answer: string) => {
    const { call, calls, accounting } = superviseWithHooks(['Search'], { row_across_calls: across });
    while (call('Search', { query: 'garden' }, true, answer, says[calls() % 2])) assert.ok(calls() < 99);
    return [calls(), accounting.halt?.code];
  };
  const [short, long] = ['nothing grows there', 'nothing grows there '.repeat(5)];
  assert.deepEqual(play(true, long), [7, 'output_loop']);
  assert.deepEqual(play(true, short), [18, 'output_loop'], 'a short answer is inconclusive twelve times');
  assert.deepEqual(play(false, long), [6 + loopsLeftCallsMax, 'tool_loop'], 'the calls alone count');
  assert.deepEqual(play(false, short), [13 + loopsLeftCallsMax, 'tool_loop']);
});
