/** Attacks on the settings of a run that a person continues after a halt. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestHomes, openCard } from '../cli/run/run-cli.ts';

const home = createTestHomes();
const long = { timeout: 120_000 };

for (const [how, options] of Object.entries({ given: ['--policy', 'switchgear.toml'], found: [] })) {
  test(
    `attack 04: a ${how} policy file that changed meanwhile tightens a retried run, and loosens it after trust`,
    long,
    async () => {
      const here = home();
      const policy = join(here.folder, 'switchgear.toml');
      const resumed = { FAKE_RESUMED: 'calls 60' };
      writeFileSync(policy, '[task]\nmax_tool_calls = 10\n');
      const { code, err } = await here.run(['run', '--quiet', ...options, '--', 'claude', '-p', 'calls 60']);
      assert.equal(code, 75, err);
      writeFileSync(policy, 'mode = "enforce"\n[delegation]\nmax_depth = 3\n');
      const first = await here.run(['inbox', 'retry', (await openCard(here)).id], resumed);
      assert.match(first.err, /task\.max_tool_calls loosens and waits for: switchgear policy trust switchgear\.toml/);
      assert.match(first.err, /tool calls: 21 of 20/);
      if (how === 'found') {
        rmSync(policy);
        const second = await here.run(['inbox', 'retry', (await openCard(here)).id], resumed);
        assert.match(second.err, /task\.max_tool_calls, .*delegation\.max_depth.* wait for the next run/);
      }
      const { id } = await openCard(here);
      writeFileSync(policy, 'mode = "observe"\n');
      assert.equal((await here.run(['policy', 'trust', 'switchgear.toml'])).code, 0);
      const third = await here.run(['inbox', 'retry', id], resumed);
      assert.match(third.err, /(trusted by you|given by --policy); looser than the defaults: mode/);
    },
  );
}
