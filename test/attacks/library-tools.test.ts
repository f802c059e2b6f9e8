/** Shell tools of a program that uses the library: the author's rules hold for them, and damage is shown. */

import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { loadPolicy } from '../../src/policy/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';

function newFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-library-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A shell tool that runs on this machine. */
const runIn =
  (cwd: string) =>
  ({ command }: { readonly command: string }) =>
    execSync(command, { cwd, encoding: 'utf8' });

test('attack 02: a store that a shell tool of the library deletes is an entry and a card', (context) => {
  const folder = newFolder(context);
  const path = join(folder, 'state.db');
  const runOnce = (command: string) => {
    const store = sqliteStore({ path });
    const gear = createSwitchgear({ store, project: 'p', log: 'silent' });
    const bash = gear.guard('bash', runIn(folder));
    void gear.task({ parent: null }, () => bash({ command }));
    gear.dispose();
    store.close();
  };
  runOnce('true');
  runOnce('rm -f state.db*');
  runOnce('true');
  const store = sqliteStore({ path });
  const [cards, journal] = [store.cards(), store.tail(0)];
  store.close();
  assert.match(cards[0]?.evidence[0] ?? '', /the store lost data: the file .* was deleted or replaced/);
  assert.ok(journal.some(({ type }) => type === 'store-degraded'));
});

test('attack 02: a policy file that a shell tool of the library rewrites does not loosen the program', (context) => {
  const folder = newFolder(context);
  const file = join(folder, 'switchgear.json');
  writeFileSync(file, JSON.stringify({ task: { max_tool_calls: 2 } }));
  const gear = createSwitchgear({ policy: loadPolicy(file), log: 'silent' });
  context.after(() => gear.dispose());
  const bash = gear.guard('bash', runIn(folder));
  const results: unknown[] = [];
  void gear.task({ parent: null }, () => {
    results.push(bash({ command: 'echo "{}" > switchgear.json; echo 1' }), bash({ command: 'echo 2' }));
    results.push(bash({ command: 'echo 3' }));
  });
  assert.deepEqual(results.slice(0, 2), ['1\n', '2\n']);
  assert.ok(isRefused(results[2]));
});

test('attack 02: a rule of the author asks before a call of a shell tool runs', async (context) => {
  const folder = newFolder(context);
  writeFileSync(join(folder, 'state.db'), '');
  const rules = [{ target: 'bash', condition: 'ability:bash', action: 'confirm', reason: 'a shell can do anything' }];
  const gear = createSwitchgear({ policy: { rules } as never, log: 'silent' });
  context.after(() => gear.dispose());
  const result = await gear.guard('bash', async (input: { command: string }) => runIn(folder)(input))({
    command: 'rm state.db',
  });
  assert.ok(isRefused(result));
  assert.equal(existsSync(join(folder, 'state.db')), true);
});
