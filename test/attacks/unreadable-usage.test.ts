/** Attacks on money: usage that is no number, or too large for one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsByShapeReader } from '../../src/agents/events-by-shape.ts';
import { createSwitchgear } from '../../src/index.ts';

const unreadable = [
  null,
  undefined,
  'much',
  {},
  { inputTokens: -5, outputTokens: -5 },
  { inputTokens: 'many', outputTokens: 1 },
];

for (const usage of unreadable) {
  test(`attack 21: a usage of ${JSON.stringify(usage)} costs what was reserved, and is told once`, async () => {
    const gear = createSwitchgear({ policy: { task: { maxSpendCents: 100 } }, log: 'silent' });
    let ran = 0;
    const ask = gear.guard('model', async () => ++ran, {
      kind: 'model',
      maxCost: { usd: 0.6, tokens: 1 },
      usage: () => usage as never,
    });
    const result = await gear.task({}, async () => {
      for (let n = 0; n < 10; n++) await ask();
    });
    assert.equal(ran, 1);
    assert.equal(result.status, 'halted');
    assert.equal(gear.journal().filter(({ type }) => type === 'price-unknown').length, 1);
  });
}

test('attack 21: an infinite count, and a count as text, are as much as they say', () => {
  for (const inputTokens of [Number.POSITIVE_INFINITY, 1e15, 1e300, '100000000']) {
    const gear = createSwitchgear({ log: 'silent' });
    const task = gear.startTask();
    task.observe({ type: 'usage', model: 'claude-sonnet-4-5', inputTokens: inputTokens as number, outputTokens: 0 });
    assert.equal(task.halt?.code, 'token_spend_limit', String(inputTokens));
  }
});

test('attack 21: JSON lines may have their tokens at the top, as text, or beyond every number', () => {
  const tokens = (line: string) =>
    eventsByShapeReader()
      .read(line)
      .map((event) => (event.type === 'usage' ? event.inputTokens : undefined));
  assert.deepEqual(tokens('{"type":"usage","input_tokens":7}'), [7]);
  assert.deepEqual(tokens('{"type":"usage","usage":{"input_tokens":"9000"}}'), [9000]);
  assert.deepEqual(tokens('{"type":"usage","usage":{"input_tokens":1e999}}'), [1e12]);
});
