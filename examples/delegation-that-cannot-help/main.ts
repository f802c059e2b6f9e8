/** A supervisor and a worker without the right tool: two failures, no third try, and another worker instead. */

import assert from 'node:assert/strict';
import { createSwitchgear, isRefused, refusalOf } from 'switchgear';

const gear = createSwitchgear({
  agent: 'Supervisor',
  log: 'silent',
  policy: { delegation: { alternatives: { chef_team: 'chart_team' } } },
});

const workers: Record<string, (request: string) => Promise<string>> = {
  chef_team: async () => 'I’m unable to draw: I don’t have a tool for charts.',
  chart_team: async (request) => `a bar chart of ${request}`,
};

const result = await gear.task({ session: 'talk' }, async () => {
  let worker = 'chef_team';
  for (let attempt = 1; attempt <= 14; attempt++) {
    const answer = await gear.delegate(worker, () => workers[worker]!('sales by month'));
    console.log(`${attempt}  ${worker}: ${isRefused(answer) ? answer.error : answer}`);
    if (isRefused(answer)) worker = String(refusalOf(answer)?.counters.alternative);
    else if (answer.includes('chart of')) return answer;
  }
  return undefined;
});

assert.deepEqual(result, { status: 'done', value: 'a bar chart of sales by month' });
assert.deepEqual(gear.snapshot().delegations.talk, { chef_team: 2 });
