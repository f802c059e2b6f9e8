/** A halted task gets a card; a person says "try again", and it goes on where it stopped, with the limit doubled. */

import assert from 'node:assert/strict';
import { createSwitchgear, isRefused, type TaskOptions } from 'switchgear';

const gear = createSwitchgear({ agent: 'Scraper', log: 'silent' });
const lookup = gear.guard('lookup', async (company: number) => `company ${company}`);
const found: string[] = [];

/** Looks up what is still missing, until all is there or the task is halted. */
function scrape(options: TaskOptions) {
  return gear.task(options, async () => {
    while (found.length < 80) {
      const answer = await lookup(found.length);
      if (isRefused(answer)) return;
      found.push(answer);
    }
  });
}

const first = await scrape({ id: 'scrape-1' });
assert.equal(first.status, 'halted');
assert.equal(found.length, 50);

const card = gear.snapshot().cards.find(({ kind }) => kind === 'halt');
assert.ok(card);
console.log(`card: ${card.evidence[0]} [${card.actions.join(', ')}]`);
gear.cards.answer(card.id, 'retry_raised', 'ann');

const raised = gear.retryOptions(card.task);
assert.ok(raised);
console.log(`again, with ${raised.limits?.maxToolCalls} calls`);
const second = await scrape({ ...raised, id: 'scrape-2' });
assert.equal(second.status, 'done');
assert.equal(found.length, 80);
console.log(`${found.length} companies found`);
