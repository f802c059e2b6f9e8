import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raisesMax } from '../../../src/core/limits.ts';
import type { RaisedLimit, TaskSettings } from '../../../src/core/settings.ts';
import type { Stop } from '../../../src/core/verdict.ts';
import { findRaise, raiseLimits } from '../../../src/guard/tasks/raised-limit.ts';

/** A task that has reached a limit, and whose limits were raised some times. */
function halted(limits: TaskSettings, raises: number, code: string, actual: number) {
  const task = { limits, raises, cells: { budget: { state: {} } } };
  return [task as never, { code, counters: { actual } } as unknown as Stop] as const;
}

for (const [code, name] of [
  ['tool_call_limit', 'maxToolCalls'],
  ['token_spend_limit', 'maxSpendCents'],
  ['duration_limit', 'maxDurationSecs'],
  ['tree_call_limit', 'maxTreeCalls'],
] as const satisfies readonly (readonly [string, RaisedLimit])[]) {
  test(`${code}: three raises to the maximum multiply a limit by eight, whatever is asked for`, () => {
    let limits = { [name]: 100 } as unknown as TaskSettings;
    for (let raises = 0; raises < raisesMax; raises++) {
      const before = limits[name]!;
      const [task, stop] = halted(limits, raises, code, before + 1);
      const { raise } = findRaise(task, stop)!;
      assert.deepEqual([raise.min, raise.suggested, raise.max], [before + 2, before * 2, before * 2]);
      limits = raiseLimits(task, stop, raises === 0 ? 1e9 : raise.max);
    }
    assert.equal(limits[name], 800);
  });
}

test('a spend of more than twice the limit is raised just past it', () => {
  const [task, stop] = halted({ maxSpendCents: 100 } as TaskSettings, 0, 'token_spend_limit', 350);
  assert.deepEqual(findRaise(task, stop)?.raise, {
    ...{ setting: 'task.max_spend_cents', suggested: 351, min: 351, max: 351 },
  });
});
