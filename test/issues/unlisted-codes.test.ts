/** A code that no declaration lists: of a custom control in JavaScript, or of a journal by a newer version. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCode } from '../../src/core/controls/registry.ts';
import { explain } from '../../src/core/messages/explain.ts';
import type { Code } from '../../src/core/verdict.ts';
import { type Control, createSwitchgear, refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const code = 'too_many' as Code;

for (const where of ['judge', 'check'] as const) {
  test(`a custom control halts a task with a code of its own: from ${where}`, async () => {
    const stop = {
      kind: 'halt',
      code,
      control: 'few',
      counters: { actual: 6, limit: 5 },
      reason: 'five are enough',
    } as const;
    const few: Control<{ calls: number }> = {
      name: 'few',
      scope: 'task',
      initial: () => ({ calls: 0 }),
      judge: ({ calls }) => (where === 'judge' && calls >= 5 ? stop : { kind: 'allow' }),
      apply(state, event) {
        if (event.type === 'action-decided') state.calls++;
        return state;
      },
      check: ({ calls }) => (where === 'check' && calls >= 5 ? stop : { kind: 'allow' }),
    };
    const clock = simulatedClock();
    const gear = createSwitchgear({ log: 'silent', env: {}, clock });
    gear.addControl(few);
    let ran = 0;
    const act = gear.guard('act', () => ++ran);
    const result = await gear.task({}, async () => {
      for (let at = 0; at < 20; at++) {
        act();
        await clock.elapse(1_000); // `check` is asked by the sweep.
      }
      return refusalOf(act())?.code;
    });
    assert.equal(ran, 5);
    assert.equal(result.status, 'halted');
    assert.equal(gear.snapshot().internalErrors, 0);
  });
}

test('a code named like a property of Object.prototype is treated as undeclared', () => {
  const refusal = explain(
    { kind: 'deny', code: 'constructor' as Code, control: 'x', counters: {} },
    { name: 'act', agent: 'a', atMs: 0 },
  );
  assert.match(refusal.message, /^Call refused: 'act' was refused/);
  assert.equal(findCode('toString').control, 'unknown');
});
