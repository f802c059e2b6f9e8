/** `switchgear inbox` finds an open card by the short id that a closed card shares. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

test('a short id names the open card, whatever closed cards begin with it', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-inbox-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const gear = createSwitchgear({ store: sqliteStore({ path }), env: {}, log: 'silent' });
  const read = gear.guard('read', (page: number) => page);
  await gear.task({ limits: { maxToolCalls: 5 } }, () => [1, 2, 3, 4, 5, 6].map((page) => read(page)));
  const [halt, notice] = ['halt', 'notice'].map((kind) => gear.cards.list().find((card) => card.kind === kind));
  assert.ok(halt !== undefined && notice !== undefined);
  gear.cards.answer(notice.id, 'dismiss', 'ann');
  gear.dispose();
  const shared = halt.id.slice('card-'.length, halt.id.lastIndexOf('-'));
  assert.ok(notice.id.includes(shared), `${notice.id} ${halt.id}`);

  const lines: string[] = [];
  const add = (line: string) => void lines.push(line);
  const terminal = { cwd: folder, env: { HOME: folder }, out: add, err: add };
  for (const verb of ['show', 'replan'])
    assert.equal(await main(['inbox', verb, shared, '--store', `sqlite:${path}`], terminal), 0, lines.join('\n'));
  assert.ok(lines.some((line) => line.includes(halt.id)));
});
