/** Research with two dollars in its pocket: three readers in parallel, none of them can pass the limit together. */

import assert from 'node:assert/strict';
import { createSwitchgear, isRefused } from 'switchgear';

const gear = createSwitchgear({ agent: 'Researcher', log: 'silent' });

/** A model call of at most 50 cents that turns out to cost 30. */
const summarise = gear.guard(
  'claude-sonnet-4',
  async (page: string) => ({ text: `in short: ${page}`, inputTokens: 50_000, outputTokens: 10_000 }),
  {
    kind: 'model',
    maxCost: { usd: 0.5 },
    usage: ({ inputTokens, outputTokens }) => ({ model: 'claude-sonnet-4', inputTokens, outputTokens }),
  },
);

const pages = Array.from({ length: 30 }, (_, number) => `page ${number}`);
let spentUsd = 0;

const result = await gear.task({ limits: { maxSpendCents: 200 } }, async (task) => {
  const summaries: string[] = [];
  while (pages.length > 0) {
    // The worst case of each call is reserved before any of them starts.
    const answers = await Promise.all(pages.splice(0, 3).map((page) => summarise(page)));
    spentUsd = task.snapshot().spendUsd;
    for (const answer of answers) if (!isRefused(answer)) summaries.push(answer.text);
    console.log(`${summaries.length} summaries, $${spentUsd.toFixed(2)}`);
    if (answers.some(isRefused)) break; // What was found so far is worth having.
  }
  return summaries;
});

assert.equal(result.status, 'halted');
assert.equal(result.halt.code, 'token_spend_limit');
assert.ok(spentUsd <= 2, `spent $${spentUsd}`);
assert.equal(result.value?.length, spentUsd / 0.3);
console.log(`halted: ${result.halt.explanation}; kept ${result.value?.length} summaries`);
