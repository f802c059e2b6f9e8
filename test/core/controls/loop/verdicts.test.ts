import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Action } from '../../../../src/core/action.ts';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';
import { allow, type Stop } from '../../../../src/core/verdict.ts';
import { bindControl, makeAction, makePermit, makeStop } from '../../../harness/control-story.ts';

/** A guarded agent: what is decided about its calls, and what they bring. */
function guarded(said: Partial<LoopSettings> = {}) {
  const task = bindControl(loop({ ...defaultSettings.loop, ...said }));
  return {
    ...task,
    runs(action: Partial<Action>, text: string, ok = true, atMs = 0) {
      task.decided(allow, action, atMs);
      const permit = { ...makePermit(makeAction(action)), atMs };
      task.settled({ kind: 'success' }, {}, { permit, atMs, result: markResult(text, ok)! });
    },
    says: (recurs: boolean) => task.tell({ type: 'text-observed', atMs: 0, similarity: 0, recurs, calls: true }),
    kinds: () => (task.cell.state.memory?.turns ?? []).map(({ evidence }) => evidence),
    judged: (action: Partial<Action>, atMs = 0) => task.judge(action, atMs).kind,
  };
}

const deny = makeStop('deny');
const read = { name: 'read', fingerprint: 7, effect: 'read' } as const;

test('a changed habit of a tool in the policy applies at once to a stored state', () => {
  const rows = [
    ['off', 'allow'],
    ['poll', 'allow'],
    ['read', 'deny'],
  ] as const;
  const agent = guarded();
  for (let i = 0; i < 5; i++) agent.runs(read, 'same');
  for (const [habit, kind] of rows) {
    const anew = bindControl(loop({ ...defaultSettings.loop, tools: { read: habit } }));
    anew.cell.state = agent.cell.state;
    assert.equal(anew.judge(read).kind, kind, habit);
  }
});

test('a repeated call is refused for a minute, and halts when it is proposed twice more', () => {
  const red = 'the light is red';
  const unknown = { name: 'read', fingerprint: 7 };
  const rows: readonly (readonly [
    call: Partial<Action>,
    text: string,
    ok: boolean,
    runs: number,
    evidence?: string,
  ])[] = [
    [read, red, true, 5, 'same_call'],
    [{ ...read, effect: 'command' }, red, true, 5, 'same_call'],
    [unknown, red, true, 12, 'same_call'],
    [unknown, 'o'.repeat(100), true, 5, 'same_call'],
    [{ ...read, name: 'read_status' }, red, true, 12, 'unready'],
    [read, 'no such host', false, 5, 'same_failure'],
    [unknown, 'no such host', false, 5, 'same_failure'],
    [{ ...read, chances: 8 }, 'no such host', false, 8, 'same_failure'],
    [read, 'connect ECONNREFUSED', false, 12, 'unready'],
    [read, 'HTTP 429 Too Many Requests', false, 10], // What waiting may fix is left to the breaker.
  ];
  for (const [call, text, ok, runs, evidence] of rows) {
    const agent = guarded();
    for (let i = 1; i <= runs; i++) {
      assert.deepEqual([agent.judged(call, 20_000), agent.check()], ['allow', allow], `${text}, ${i}`);
      agent.runs(call, text, ok, 20_000);
    }
    const refusal = agent.judge(call, 20_000) as Stop;
    if (evidence === undefined) {
      assert.equal(refusal, allow);
      continue;
    }
    const { kind, code, retryAtMs, counters } = refusal;
    const facts = [kind, code, retryAtMs, counters.evidence, counters.times];
    assert.deepEqual(facts, ['deny', 'tool_loop', 80_000, evidence, runs], text);
    assert.deepEqual([agent.judged(call, 79_999), agent.judged(call, 80_000)], ['deny', 'allow'], text);
    assert.equal(agent.judge({ ...call, fingerprint: 8 }), allow, 'another call');
    agent.decided(refusal, call, 20_000);
    assert.deepEqual([agent.judged(call, 20_000), agent.check()], ['deny', allow], text);
    agent.decided(refusal, call, 20_000);
    assert.equal(agent.judged(call, 20_000), 'halt', text);
  }
});

test('a refusal counts as a repeat of the earlier result, or as a failure if there is none', () => {
  const known = guarded();
  known.runs(read, 'same');
  known.runs({ ...read, fingerprint: 8 }, 'other');
  known.decided(deny, read);
  assert.deepEqual(known.kinds(), ['news', 'news', 'same_cycle']);
  assert.equal(known.cell.state.memory?.pastCalls.at(-1)?.reached, false);

  const unknown = guarded();
  unknown.says(true);
  unknown.decided(deny, read);
  unknown.decided(deny, { ...read, fingerprint: 1 });
  assert.deepEqual(unknown.kinds(), ['other_error', 'same_error'], 'whatever the words were');
});

test('a call without a fingerprint is not remembered, refused or run', () => {
  const agent = guarded();
  agent.decided(deny, { fingerprint: 0 });
  agent.runs({ fingerprint: 0 }, 'same');
  assert.equal(agent.cell.state.memory, null);
  agent.runs({ fingerprint: 1 }, 'same');
  assert.deepEqual(agent.kinds(), ['news']);
});

test('only the results of tools are compared', () => {
  const agent = guarded();
  for (let i = 0; i < 20; i++) agent.runs({ ...read, kind: 'model' }, 'same');
  assert.equal(agent.cell.state.memory, null);
});

test('a settlement without a result mark does not create a memory', () => {
  const agent = guarded();
  agent.settled({ kind: 'success' }, read);
  assert.equal(agent.cell.state.memory, null);
});

test('calls without a measured likeness are not nearly the same', () => {
  const agent = guarded();
  agent.says(true);
  for (let fingerprint = 1; fingerprint < 5; fingerprint++) agent.runs({ ...read, fingerprint }, 'x '.repeat(40));
  assert.deepEqual(agent.kinds(), ['news', 'news', 'news', 'news']);
});

test('a halt counts the times since the last news or change only', () => {
  const story = (...results: readonly (readonly [text: string, ok: boolean])[]) => {
    const agent = guarded();
    for (const [text, ok] of results) agent.runs(read, text, ok);
    return (agent.judge(read) as Stop).counters?.times;
  };
  const [same, broken] = [['same', true] as const, ['it broke', false] as const];
  assert.equal(story(['a', true], ['b', true], ...Array(5).fill(same)), 5);
  assert.equal(story(same, ...Array(5).fill(broken)), 5);
});
