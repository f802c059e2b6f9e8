import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveBreaker } from '../../../src/core/controls/resolve-settings.ts';
import type { Entry } from '../../../src/core/event.ts';
import { replay } from '../../../src/core/replay/replay.ts';
import { createSwitchgear } from '../../../src/guard/create-switchgear.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

type Policy = Readonly<Record<string, unknown>>;

function recorded(policy: Policy, options: { readonly mode?: 'observe' } = {}) {
  const clock = simulatedClock();
  const all = { journal: { level: 'all' }, ...policy } as const;
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: all, ...options });
  const again = (entries: readonly Entry[] = gear.journal()) =>
    replay(entries, gear.settings, {
      ...options,
      breakerSettings: (tool, agent, overrides) => resolveBreaker(gear.settings, { tool, agent, overrides }),
    });
  return { clock, gear, again };
}

/** A tool that fails until it is told otherwise. */
function flaky() {
  const tool = { runtime: false, run: async () => (tool.runtime ? 'fine' : Promise.reject(new Error('down'))) };
  return tool;
}

/** A breaker that opens, is probed, opens again, is held, released, reset, tripped by hand and closes. */
async function breakerStory(policy: Policy) {
  const { clock, gear, again } = recorded(policy);
  const tool = flaky();
  const call = gear.guard('search', tool.run);
  const tries = async (times: number) => {
    for (let at = 0; at < times; at++) await call().catch(() => {});
  };
  const handle = gear.breaker('search');
  await tries(7);
  await clock.elapse(60_000);
  await tries(2);
  tool.runtime = true;
  await clock.elapse(60_000);
  await tries(3);
  handle.hold();
  await tries(1);
  handle.release();
  handle.trip(clock.nowMs() + 90_000);
  await clock.elapse(70_000);
  await tries(1);
  handle.reset();
  await tries(1);
  return { gear, again };
}

test('the replay of a journal of level all repeats every decision of a breaker', async () => {
  const { gear, again } = await breakerStory({});
  const { decisions, differences, lastSeq } = again();
  assert.deepEqual(differences, []);
  assert.equal(lastSeq, gear.journal().length);
  const judged = ['action-allowed', 'action-refused', 'breaker-opened'];
  assert.equal(decisions, gear.journal().filter(({ type }) => judged.includes(type)).length);
});

test('the replay of a journal of level refusals repeats trips, and refusals by an open breaker', async () => {
  const { gear, again } = await breakerStory({ journal: { level: 'refusals' } });
  const { decisions, differences } = again();
  assert.deepEqual(differences, []);
  assert.equal(gear.journal().filter(({ type }) => type === 'action-allowed').length, 0);
  assert.equal(decisions, 6);
});

test('a replay with another threshold reports the lines where the decision differs', async () => {
  const { gear } = await breakerStory({});
  const stricter = { ...gear.settings, circuitBreaker: { ...gear.settings.circuitBreaker, failureThreshold: 3 } };
  const [first] = replay(gear.journal(), stricter).differences;
  assert.equal(first?.expected, 'allow');
  assert.equal(first?.got, 'deny circuit_open');
  const records = gear.journal().filter(({ type }) => type === 'breaker-opened' || type === 'failure-counted');
  const laxer = { ...gear.settings, circuitBreaker: { ...gear.settings.circuitBreaker, failureThreshold: 9 } };
  const journal = { ...laxer.journal, level: 'refusals' } as const;
  assert.deepEqual(replay(records, { ...laxer, journal }).differences[0]?.expected, 'trip');
});

test('replay reports a changed line', async () => {
  const { gear, again } = await breakerStory({});
  const entries = gear.journal();
  const at = entries.findIndex(({ type }) => type === 'action-refused');
  const lie = { ...entries[at], type: 'action-allowed', probe: false } as Entry;
  assert.equal(again(entries.with(at, lie)).differences[0]?.seq, lie.seq);
});

test('replay repeats halts by call limit, output loop, idle time, delegation limit and operator', async () => {
  const { clock, gear, again } = recorded({
    task: { max_tool_calls: 3 },
    delegation: { max_failures: 1, on_trip: 'halt' },
  });
  const call = gear.guard('look', async () => 'seen');
  const calls = await gear.task({}, async () => {
    for (let at = 0; at < 6; at++) await call();
  });
  const words = await gear.task({}, async (task) => {
    for (let at = 0; at < 4; at++) task.observe({ type: 'assistant', text: 'the same words' });
  });
  const silent = gear.startTask();
  clock.advance(400_000);
  const sent = await gear.task({}, async () => gear.delegate('cook', async () => 'I am unable to cook'));
  const stopped = gear.startTask();
  gear.halt(stopped.id, 'enough');
  assert.deepEqual(
    [calls, words, sent].map((result) => (result.status === 'halted' ? result.halt.code : 'done')),
    ['tool_call_limit', 'output_loop', 'delegation_limit'],
  );
  assert.equal(silent.halt?.code, 'idle_timeout');
  const { differences, decisions } = again();
  assert.deepEqual(differences, []);
  const halts = gear.journal().filter((entry) => entry.type === 'task-halted' && entry.cause === undefined);
  assert.equal(halts.length, 5);
  assert.ok(decisions >= halts.length);
  const journal = { ...gear.settings.journal, level: 'refusals' } as const;
  const records = replay(gear.journal(), { ...gear.settings, journal });
  assert.deepEqual(records, { decisions: 4, differences: [], lastSeq: gear.journal().at(-1)?.seq });
});

test('replay reports a halt that is missing from the journal', async () => {
  const { gear, again } = recorded({ task: { max_tool_calls: 2 } });
  const task = gear.startTask();
  for (let at = 0; at < 3; at++) task.observe({ type: 'tool_use', name: 'x' });
  const silenced = gear.journal().filter(({ type }) => type !== 'task-halted');
  assert.equal(again(silenced).differences[0]?.got, `halt tool_call_limit of ${task.id}`);
});

test('the replay of a gear in observe mode uses observe mode', async () => {
  const { gear, again } = recorded(
    { task: { max_tool_calls: 2 }, circuit_breaker: { failure_threshold: 1 } },
    { mode: 'observe' },
  );
  const call = gear.guard('look', flaky().run);
  await gear.task({}, async () => {
    for (let at = 0; at < 5; at++) await call().catch(() => {});
  });
  assert.ok(gear.journal().some((entry) => entry.type === 'action-refused' && !entry.enforced));
  assert.deepEqual(again().differences, []);
});

test('a replay ends at the line where the policy changed', async () => {
  const { gear, again } = recorded({});
  const call = gear.guard('look', async () => 1);
  await call();
  gear.reload({ journal: { level: 'all' } });
  await call();
  const reloaded = gear.journal().find(({ type }) => type === 'policy-reloaded');
  assert.equal(again().lastSeq, reloaded?.seq);
  assert.equal(again().decisions, 1);
});
