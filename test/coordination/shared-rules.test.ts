/** Marks that a process asks for: one for each call that waits, however late the answer and however early a timer. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareRules } from '../../src/coordination/shared-rules.ts';
import type { Action } from '../../src/core/action.ts';
import type { RulesControl } from '../../src/core/controls/rules/control.ts';
import type { Transaction } from '../../src/ports/store.ts';

/** A rule that counts every call, on a store that does not answer. */
function marking() {
  const asked: Transaction[] = [];
  const sharing = shareRules({
    process: 'p',
    health: () => ({ state: 'shared' }) as never,
    commitNow: () => ({ status: 'unavailable', reason: 'it takes a moment' }),
    commit: (transaction) => {
      asked.push(transaction);
      return new Promise(() => {});
    },
    windowCount: (_key, atMs) => ({ count: 0, oldestMs: atMs }),
  });
  const countingRules = [
    { key: 'k', rule: { id: 'r', action: 'throttle' }, condition: { count: 9, windowMs: 60_000 } },
  ];
  const control = { name: 'rules', countingRules: () => countingRules } as unknown as RulesControl;
  const sharedControl = sharing.bind(control as never, 'project');
  const call = (atMs: number) => sharedControl.countCall?.({ id: 1, kind: 'tool', name: 'send' } as Action, atMs);
  return { call, asked };
}

test('a retry before the store has replied requests the count only once', () => {
  const { call, asked } = marking();
  for (const atMs of [0, 9.5, 19, 38.5]) assert.equal((call(atMs) as { pending?: true }).pending, true);
  assert.equal(asked.length, 1);
});

test('calls that arrive during a request are each requested once', () => {
  const { call, asked } = marking();
  for (const atMs of [0, 0, 1, 10, 10, 11]) call(atMs);
  assert.equal(asked.length, 3);
});
