/** Plain functions in a loop written by hand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, RefusedError } from 'switchgear';
import { protect } from 'switchgear/adapters/functions';
import { adapterSuite, type HostScene } from 'switchgear/testing';
import { playScene } from './plain-loop.ts';

type Input = Readonly<Record<string, unknown>>;

adapterSuite({
  name: 'plain functions',
  lacks: ['asks', 'meters', 'delegates', 'cancels'],
  run(scene: HostScene) {
    const { gear } = scene;
    const own = Object.entries(scene.tools).map(([name, tool]) => [name, async (input: Input) => tool(input)]);
    const bare: Record<string, (input: Input) => Promise<unknown>> = Object.fromEntries(own);
    const tools = gear === undefined ? bare : protect(bare, { gear });
    return playScene(scene, async (tool, input) => {
      try {
        return String(await tools[tool]?.(input));
      } catch (error) {
        return String(error);
      }
    });
  },
});

test('a synchronous function stays synchronous, throws a refusal, and has its own name', () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  function lookUp(word: string): number {
    if (word === '') throw new TypeError('no word');
    return word.length;
  }
  const guarded = protect(lookUp, { gear });
  assert.equal(guarded('tides'), 5);
  for (let attempt = 0; attempt < 5; attempt++) assert.throws(() => guarded(''), TypeError);
  assert.throws(() => guarded('tides'), RefusedError);
  assert.equal(gear.breaker('lookUp').state, 'OPEN');
});

test('a value that is not a function is returned unchanged, and a function without a name is an error', () => {
  assert.deepEqual(protect({ limit: 3 }), { limit: 3 });
  assert.throws(() => protect(() => 1), /has no name/);
});
