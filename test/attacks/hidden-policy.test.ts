/** Attacks on the search for a policy: a repository inside the repository ends it early. */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bash, newSession } from '../hooks/hook-session.ts';

test('a repository that the agent makes loosens nothing in its session, and it is a card', async (context) => {
  const { folder, send, cards, clear } = newSession();
  context.after(clear);
  const work = join(folder, 'work');
  mkdirSync(join(folder, '.git'));
  mkdirSync(work);
  writeFileSync(join(folder, 'switchgear.toml'), '[task]\nmax_tool_calls = 2\n');
  const call = (id: string) => send({ ...bash(id, `ls ${id}`).pre, cwd: work });
  assert.equal((await call('c1')).output, undefined);
  mkdirSync(join(work, '.git'));
  assert.equal((await call('c2')).output, undefined);
  const { output } = await call('c3');
  assert.match(JSON.stringify(output), /3 of 2/);
  assert.ok(cards().some(({ id }) => id.startsWith('policy-changed-')));
});
