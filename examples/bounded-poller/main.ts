/** A poller that cannot run wild: three runs a minute, and one too many is told when to come back. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createChains, loadChain, mcpAbilities } from 'switchgear/chains';
import { simulatedClock } from 'switchgear/testing';

const here = import.meta.dirname;
const clock = simulatedClock();
const config: unknown = JSON.parse(readFileSync(join(here, 'mcp.json'), 'utf8'));
const builds = mcpAbilities(config, { cwd: here, env: { ...process.env, EXAMPLE_NODE: process.execPath } });
const chains = createChains({ abilities: [builds], clock, log: 'silent' });
const chain = loadChain(join(here, 'chain.yaml'));

const stories: string[] = [];
let asked = 0;
try {
  // An impatient loop: it asks again after every answer, and waits only when it is told to.
  for (let loops = 0; loops < 8; loops++) {
    const run = await chains.run(chain);
    if (run.status === 'throttled') {
      const waitMs = (run.end?.retryAtMs ?? 0) - clock.nowMs();
      stories.push(`throttled for ${Math.ceil(waitMs / 1000)} s`);
      clock.advance(waitMs);
      continue;
    }
    assert.equal(run.status, 'done');
    const { look } = await chains.outputs(run.id);
    asked = (look as { asked: number }).asked;
    stories.push(`${(look as { state: string }).state}, ${run.steps[1]?.status === 'done' ? 'announced' : 'not yet'}`);
    if (run.steps[1]?.status === 'done') break;
  }
} finally {
  await chains.close();
}

console.log(stories.join('\n'));
const notYet = 'running, not yet';
assert.deepEqual(stories, [notYet, notYet, notYet, 'throttled for 60 s', notYet, 'green, announced']);
assert.equal(asked, 5); // The run that was too many asked nobody.
