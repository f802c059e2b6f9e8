import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Action } from '../../../../src/core/action.ts';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';
import { allow, type Stop } from '../../../../src/core/verdict.ts';
import { bindControl, makeStop } from '../../../harness/control-story.ts';

/** A guarded agent: what is decided about its calls, and what they bring. */
function guarded(said: Partial<LoopSettings> = {}) {
  const task = bindControl(loop({ ...defaultSettings.loop, ...said }));
  return {
    ...task,
    runs(action: Partial<Action>, text: string, ok = true, atMs = 0) {
      task.decided(allow, action, atMs);
      task.settled({ kind: 'success' }, action, { atMs, result: markResult(text, ok)! });
    },
    says: (recurs: boolean) => task.tell({ type: 'text-observed', atMs: 0, similarity: 0, recurs, calls: true }),
    kinds: () => (task.cell.state.memory?.turns ?? []).map(({ evidence }) => evidence),
    judged: (action: Partial<Action>, atMs = 0) => task.judge(action, atMs).kind,
  };
}

const deny = makeStop('deny');
const read = { name: 'read', fingerprint: 7 };

test('a changed habit of a tool in the policy applies at once to a stored state', () => {
  const rows = [
    ['off', 'allow'],
    ['wait', 'allow'],
    ['page', 'deny'],
  ] as const;
  const agent = guarded();
  for (let i = 0; i < 8; i++) agent.runs(read, 'same');
  for (const [habit, kind] of rows) {
    const anew = bindControl(loop({ ...defaultSettings.loop, tools: { read: habit } }));
    anew.cell.state = agent.cell.state;
    assert.equal(anew.judge(read).kind, kind, habit);
  }
});

test('a poll is allowed again once the poll interval has passed since the last poll', () => {
  const agent = guarded({ tools: { read: 'poll' } });
  for (let i = 0; i < 8; i++) agent.runs(read, 'same', true, 20_000);
  assert.deepEqual([agent.judged(read, 24_999), agent.judged(read, 25_000)], ['deny', 'allow']);
});

test('a refusal counts as a repeat of the earlier result, or as a failure if there is none', () => {
  const known = guarded();
  known.runs(read, 'same');
  known.runs({ ...read, fingerprint: 8 }, 'other');
  known.decided(deny, read);
  assert.deepEqual(known.kinds(), ['news', 'news', 'same_cycle']);

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

test('a call of a guarded agent that keeps failing is refused and does not halt the task', () => {
  const agent = guarded();
  const call = { name: 'fetch', fingerprint: 1 };
  for (let i = 0; i < 5; i++) agent.runs(call, 'no such host', false);
  assert.deepEqual([agent.judged(call), agent.check()], ['deny', allow]);
});

test('a watched agent halts on repeated turns, and on one more attempt of a call that keeps failing', () => {
  const rows = [
    [true, 9],
    [false, 6],
  ] as const;
  for (const [ok, times] of rows) {
    const agent = guarded();
    const call = { atMs: 0, name: 'read', call: 7 };
    for (let i = 1; i <= times; i++) {
      assert.equal(agent.check(), allow, `${i}`);
      agent.tell({ type: 'call-observed', ...call });
      if (ok || i < times) agent.tell({ type: 'result-observed', ...call, result: markResult('same', ok)! });
    }
    const { kind, code, control, counters } = agent.check() as Stop;
    assert.deepEqual([kind, code, control, counters.name], ['halt', 'tool_loop', 'loop', 'read']);
  }
});
