/** Recorded runs of real agents as the growing histories of their requests: decided as the supervisor decides. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentEvent } from '../../../src/agents/index.ts';
import { createConversations } from '../../../src/gateway/conversations/conversations.ts';
import { createGatewayTasks } from '../../../src/gateway/gateway-tasks.ts';
import type { HistoryItem } from '../../../src/gateway/shapes/shape.ts';
import { runtimeOf } from '../../../src/guard/internal.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';
import { play, type Recording, readers, recordings } from '../../agents/recording.ts';

/** Plays a run to the conversations of a gateway, with a request after each result; returns what was decided. */
function playAsRequests({ cli, lines }: Recording) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, env: {}, log: 'silent', project: 'test' });
  const runtime = runtimeOf(gear);
  const tasks = createGatewayTasks(runtime, { limits: {} }, undefined);
  const task = tasks.find({ id: 'gw-run', agent: cli, isNamed: true });
  assert.ok(!(task instanceof Promise));
  const conversations = createConversations(runtime, tasks);
  const reader = readers[cli]();
  const history: HistoryItem[] = [{ type: 'user', text: 'the task' }];
  const decided = { calls: 0, hints: 0, halt: undefined as string | undefined };
  const take = (event: AgentEvent): void => {
    if (decided.halt !== undefined) return;
    if (event.type === 'tool_use') {
      decided.calls++;
      history.push({ type: 'assistant', text: '', calls: [{ id: event.id, name: event.name, input: event.input }] });
    } else if (event.type === 'tool_result') {
      history.push({ type: 'result', id: event.id, output: event.output, ok: event.ok, at: history.length });
      const found = conversations.find('gw-run', task, [...history]);
      assert.ok(!(found instanceof Promise));
      decided.hints = found?.hints.length ?? 0;
      decided.halt = found?.task.halt?.code;
    }
  };
  let atMs = 0;
  for (const { atMs: nextMs, line } of lines) {
    clock.advance(Math.max(0, nextMs - atMs));
    atMs = nextMs;
    for (const event of reader.read(line)) take(event);
  }
  gear.dispose();
  return decided;
}

const isLoop = (code: string | undefined) => (code?.endsWith('_loop') === true ? code : undefined);

for (const each of recordings()) {
  test(`${each.cli} ${each.name}: its requests are decided as its stream is`, () => {
    const { accounting, calls, entries } = play(each);
    const decided = playAsRequests(each);
    assert.equal(isLoop(decided.halt), isLoop(accounting.halt?.code));
    if (isLoop(decided.halt) !== undefined) assert.equal(decided.calls, calls);
    const suspected = entries.filter(({ type }) => type === 'loop-suspected').length;
    if (accounting.halt === undefined) assert.equal(decided.hints, suspected);
  });
}
