import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Refusal, RefusedError, refused } from '../../src/core/refusal.ts';
import type { Observation, Task } from '../../src/guard/api.ts';
import { scriptedAgent } from '../../src/testing/scripted-agent.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';

const refusal = (kind: Refusal['kind']): Refusal => ({
  code: kind === 'halt' ? 'tool_call_limit' : 'circuit_open',
  control: 'test',
  kind,
  counters: {},
  message: 'no',
  remediation: 'stop',
  explanation: 'it was too much',
  name: 'search',
});

/** A task that halts at the nth thing it is told. */
function listener(haltsAt = Number.POSITIVE_INFINITY) {
  const told: Observation[] = [];
  const task = {
    observe(observation: Observation) {
      told.push(observation);
      return told.length >= haltsAt ? refusal('halt') : undefined;
    },
  } as unknown as Task;
  return { task, told };
}

test('a script runs its tools in order, and lists results and errors separately', async () => {
  const failure = new Error('down');
  const tools = {
    double: (n: number) => n * 2,
    fail: async () => {
      throw failure;
    },
  };
  const agent = scriptedAgent([
    { tool: 'double', args: [21] },
    { tool: 'fail' },
    { tool: 'double', args: [1], times: 2 },
  ]);
  const { lines, refusals, halt } = await agent({ tools });
  assert.deepEqual(
    lines.map((line) => (line.kind === 'result' ? line.value : line.kind)),
    [42, 'error', 2, 2],
  );
  assert.equal(lines[1]?.kind === 'error' && lines[1].error, failure);
  assert.deepEqual(refusals, []);
  assert.equal(halt, undefined);
});

test('returned and thrown refusals are recorded in the same way, and the agent continues', async () => {
  const tools = {
    returned: () => refused(refusal('deny'), 'A', 's'),
    thrown: () => {
      throw new RefusedError(refusal('deny'));
    },
    ok: () => 'fine',
  };
  const { lines, refusals } = await scriptedAgent([{ tool: 'returned' }, { tool: 'thrown' }, { tool: 'ok' }])({
    tools,
  });
  assert.deepEqual(
    lines.map((line) => line.kind),
    ['refusal', 'refusal', 'result'],
  );
  assert.deepEqual(
    refusals.map((each) => each.code),
    ['circuit_open', 'circuit_open'],
  );
});

test('an agent stops at a halt, and a stubborn agent continues', async () => {
  const script = [{ says: 'a', times: 5 }] as const;
  const polite = listener(2);
  const first = await scriptedAgent(script)({ task: polite.task });
  assert.equal(polite.told.length, 2);
  assert.equal(first.halt?.code, 'tool_call_limit');
  const pushy = listener(2);
  const second = await scriptedAgent(script)({ task: pushy.task, stubborn: true });
  assert.equal(pushy.told.length, 5);
  assert.equal(second.refusals.length, 4);
});

test('texts, user messages and usage are passed to the task unchanged', async () => {
  const { task, told } = listener();
  const usage = { model: 'm', inputTokens: 1, outputTokens: 2 };
  await scriptedAgent([{ says: 'hello' }, { hears: 'go on' }, { usage }])({ task });
  assert.deepEqual(told, [
    { type: 'assistant', text: 'hello' },
    { type: 'user', text: 'go on' },
    { type: 'usage', ...usage },
  ]);
});

test('a wait in a script advances the clock of the stage', async () => {
  const clock = simulatedClock();
  await scriptedAgent([{ waitsMs: 60_000 }])({ clock });
  assert.equal(clock.nowMs(), 60_000);
});

test('an error about a script names the missing part of its stage', async () => {
  await assert.rejects(
    scriptedAgent([{ tool: 'fly' }])({ tools: { walk: () => 1 } }),
    /uses 'fly', the stage has: walk/,
  );
  await assert.rejects(scriptedAgent([{ tool: 'toString' }])({ tools: {} }), /no tools/);
  await assert.rejects(scriptedAgent([{ says: 'hi' }])({}), /needs a task/);
  await assert.rejects(scriptedAgent([{ waitsMs: 1 }])({}), /needs a clock/);
});
