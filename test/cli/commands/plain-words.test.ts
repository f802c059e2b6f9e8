/** What `status`, `tail`, `inbox` and `chain list` say about failing tools, notices, halts and lost runs. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { interruptedCell, isInterrupted } from '../../../src/cli/chain/report.ts';
import { main } from '../../../src/cli/main.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

async function failing(context: TestContext, policy: object) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-words-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const store = sqliteStore({ path });
  const gear = createSwitchgear({ store, log: 'silent', policy });
  const search = gear.guard('search', async (): Promise<string> => Promise.reject(new Error('503 from upstream')));
  for (let call = 0; call < 5; call++) await search().catch(() => undefined);
  const read = gear.guard('read', async (page: number) => `page ${page}`);
  await gear.task({ agent: 'reader', limits: { maxToolCalls: 10 } }, async () => {
    for (let page = 0; page < 11; page++) await read(page);
  });
  await store.shared?.settled();
  store.close();
  return async (...args: readonly string[]) => {
    const out: string[] = [];
    const lines = { out: (line: string) => out.push(line), err: (line: string) => out.push(line) };
    await main([...args, '--store', `sqlite:${path}`], { ...lines, cwd: folder, env: { HOME: folder } });
    return out.join('\n');
  };
}

test('status, tail and inbox in plain words; the message of an error is not stored by default', async (context) => {
  const run = await failing(context, {});
  const status = await run('status');
  assert.match(status, /search +open +next probe in \d+ s +1 trip +agent .* it failed 5 times; last error: Error\n/);
  assert.match(status, /Open cards \(1\)\n +\S+ +halt +\S+ +\S+ +tool_call_limit +tool calls: 11 of 10/);
  assert.match(status, /Notices \(1\)\n +\S+ +notice .*tool calls: 8 of 10/);
  const tail = await run('tail', '-n', '100');
  assert.match(tail, /failure-counted +search failed \(5 of 5\): Error\n/);
  assert.match(tail, /breaker-opened +search: it failed 5 times; refused for 60 s/);
  assert.match(tail, /task-missing +search was called outside a task: no budget applies; put gear\.task/);
  assert.doesNotMatch(status + tail, /upstream/);
  const inbox = await run('inbox', 'list');
  assert.match(inbox, /^ {2}\S+ +halt .*\nNotices, which need no answer .*:\n {2}\S+ +notice /);
  const [, id = ''] = /^ {2}(\S+) +halt/.exec(inbox) ?? [];
  assert.match(await run('inbox', 'show', id), /changed by +task\.max_tool_calls/);
});

test('where the policy keeps texts, status and tail have the message of the last error', async (context) => {
  const run = await failing(context, { journal: { content: 'redacted' } });
  assert.match(await run('status'), /it failed 5 times; last error: Error: 503 from upstream/);
  assert.match(await run('tail', '-n', '100'), /search failed \(5 of 5\): Error: 503 from upstream/);
});

test('a chain run whose process is gone counts as interrupted, not as running', () => {
  const owner = { process: 'p', pid: process.pid, machine: 'another machine', untilMs: 1_000 };
  assert.equal(isInterrupted({ status: 'running', owner }, 999), false, 'the lease holds');
  assert.equal(isInterrupted({ status: 'running', owner }, 1_000), true, 'the lease has expired');
  assert.equal(isInterrupted({ status: 'running' }, 0), true, 'nobody owns it');
  assert.equal(isInterrupted({ status: 'waiting' }, 0), false);
  assert.equal(interruptedCell.text, 'interrupted');
});
