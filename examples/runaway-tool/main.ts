/** A search that is down, and an agent that does not give up: five calls run, two are refused, the eighth halts. */

import assert from 'node:assert/strict';
import { createSwitchgear, isRefused } from 'switchgear';

const gear = createSwitchgear({ agent: 'Researcher', log: 'silent' });

let reached = 0;
const search = gear.guard('web_search', async (query: string): Promise<string> => {
  reached++;
  throw new Error(`search for "${query}": 503 Service Unavailable`);
});

const result = await gear.task({}, async (task) => {
  for (let attempt = 1; !task.signal.aborted; attempt++) {
    const answer = await search('quantum computing').catch((error: Error) => error.message);
    console.log(`${attempt}  ${isRefused(answer) ? `${answer.error} | ${answer.remediation}` : answer}`);
  }
});

assert.equal(reached, 5);
assert.equal(result.status, 'halted');
assert.equal(gear.breaker('web_search').state, 'OPEN');
console.log(`halted: ${result.halt.explanation}`);
