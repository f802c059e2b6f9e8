/** The time in which tools of a client run between two requests, and answers of the model without calls. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConversations } from '../../../src/gateway/conversations/conversations.ts';
import { createGatewayTasks } from '../../../src/gateway/gateway-tasks.ts';
import type { HistoryItem } from '../../../src/gateway/shapes/shape.ts';
import { runtimeOf } from '../../../src/guard/internal.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

/** One conversation of a client that repeats its history with each request. */
function converse() {
  const clock = simulatedClock();
  const policy = { task: { max_tool_calls: 200, max_duration_secs: 20_000, max_idle_secs: 5_000 } };
  const gear = createSwitchgear({ clock, policy, env: {}, log: 'silent', project: 'test' });
  const runtime = runtimeOf(gear);
  const tasks = createGatewayTasks(runtime, { limits: {} }, undefined);
  const task = tasks.find({ id: 'gw-t', agent: 'client', isNamed: true });
  assert.ok(!(task instanceof Promise));
  const conversations = createConversations(runtime, tasks);
  const history: HistoryItem[] = [{ type: 'user', text: 'is the export done?' }];
  const client = {
    clock,
    history,
    calls: 0,
    /** Asks the model, which answers after a time; returns the code of a halt, and the last hint. */
    ask(modelSecs: number, isHeard = true) {
      const found = conversations.find('gw-t', task, [...history]);
      assert.ok(!(found instanceof Promise));
      clock.advance(1000 * modelSecs);
      if (isHeard) found?.answered();
      return { code: found?.task.halt?.code, hint: found?.hints.at(-1)?.text };
    },
    /** The model calls a tool, which returns after a time. */
    call(name: string, input: unknown, output: string, toolSecs: number) {
      const id = `c${++client.calls}`;
      history.push({ type: 'assistant', text: '', calls: [{ id, name, input }] });
      clock.advance(1000 * toolSecs);
      history.push({ type: 'result', id, output, ok: true, at: history.length });
    },
    /** How many equal calls are made until the conversation is halted; 40 if it never is. */
    repeat(modelSecs: number, toolSecs: number): number {
      client.ask(modelSecs);
      while (client.calls < 40) {
        client.call('read', { path: '/out' }, 'the list is empty', toolSecs);
        if (client.ask(modelSecs).code !== undefined) break;
      }
      return client.calls;
    },
  };
  return client;
}

for (const [modelSecs, toolSecs, calls] of [
  [0, 0, 6],
  [0, 1, 6],
  [60, 1, 6],
  [0, 5, 40],
  [2, 30, 40],
  [60, 6, 40],
] as const) {
  const end = calls === 40 ? 'is no loop' : `is a loop at call ${calls}`;
  test(`one call with one result ${end} if the tool takes ${toolSecs} s and the model ${modelSecs} s`, () => {
    assert.equal(converse().repeat(modelSecs, toolSecs), calls);
  });
}

test('waits of three seconds are left alone for 90 seconds, and then are a loop', () => {
  const client = converse();
  const calls = client.repeat(1, 3);
  assert.ok(calls >= 30 && calls <= 37, `${calls} calls`);
});

test('the time in which a client takes up an old conversation is no wait for the calls before it', () => {
  const { call, ask, clock, ...client } = converse();
  ask(0);
  for (let n = 0; n < 5; n++) {
    call('read', { path: '/out' }, 'the list is empty', 0);
    assert.equal(ask(0).code, undefined);
  }
  clock.advance(3_600_000);
  assert.equal(ask(0).code, undefined, 'the same request again');
  call('read', { path: '/out' }, 'the list is empty', 0);
  assert.equal(ask(0).code, 'tool_loop');
  assert.equal(client.history.length, 13);
});

test('a model that answers a repeated prompt with the same text three times in a row is halted', () => {
  const { ask, history } = converse();
  const codes: unknown[] = [];
  ask(1);
  for (let n = 0; n < 6; n++) {
    history.push({ type: 'assistant', text: 'I will now look at the export, one moment please.', calls: [] });
    history.push({ type: 'user', text: 'is the export done?' });
    codes.push(ask(1).code);
  }
  // The first answer came before the conversation was watched, the second before the prompt was known to repeat.
  assert.deepEqual(codes, [...Array(4).fill(undefined), 'output_loop', 'output_loop']);
});

test('a model that gives the same answer to prompts of a person that differ is not halted', () => {
  const { ask, history } = converse();
  ask(1);
  for (const what of ['oak', 'fern', 'moss', 'pine', 'lily', 'reed']) {
    history.push({ type: 'assistant', text: 'Done: the file is changed and all tests pass.', calls: [] });
    history.push({ type: 'user', text: `now rename the ${what}` });
    assert.equal(ask(1).code, undefined, what);
  }
});

test('an answer without a call is counted once, however often its history comes', () => {
  const { ask, history } = converse();
  ask(1);
  history.push({ type: 'assistant', text: 'I will now look at the export, one moment please.', calls: [] });
  history.push({ type: 'user', text: 'is the export done?' });
  for (let n = 0; n < 12; n++) assert.deepEqual(ask(1), { code: undefined, hint: undefined });
});
