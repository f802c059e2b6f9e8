/** What seed B promises of a whole run, shown with the command and agents that follow a script. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { main } from '../../src/cli/main.ts';
import type { Card } from '../../src/core/card.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { bin } from '../harness/switchgear-bin.ts';

const home = createTestHome(bin);
after(() => home.clear());

const research = ['--', 'claude', '-p', 'calls 60'];

async function inbox(): Promise<readonly Card[]> {
  return JSON.parse((await home.run(['inbox', 'list', '--json'])).out || '[]') as Card[];
}

/** Runs until the tool cap, and gives the card of it. */
async function halted(): Promise<Card | undefined> {
  await home.run(['run', '--quiet', ...research]);
  return (await inbox()).at(-1);
}

test('B14: after a trip the caller shows an error_alert card', { timeout: 120_000 }, async () => {
  const { out } = await home.run(['run', '--json', ...research]);
  const alert = out.split('\n').find((line) => line.includes('"error_alert"'));
  const { type, card } = JSON.parse(alert ?? '{}') as { readonly type?: string; readonly card?: Card };
  assert.deepEqual([type, card?.code, card?.counters], ['error_alert', 'tool_call_limit', { actual: 51, limit: 50 }]);
  await home.run(['inbox', 'dismiss', (await inbox()).at(-1)?.id ?? '']);
});

test('B36: the card of a halted run lands in the inbox with a short explanation', { timeout: 120_000 }, async () => {
  const card = await halted();
  assert.equal(card?.evidence.at(-1), 'tool calls: 51 of 50');
  const { out } = await home.run(['inbox', 'list']);
  assert.match(out, /halt +claude-code +t-\S+ +open +waits \d+ s +tool calls: 51 of 50/);
  await home.run(['inbox', 'dismiss', card.id]);
});

test('B37: a card offers to try again with raised limits, and to pause', { timeout: 120_000 }, async () => {
  const { id = '', actions } = (await halted()) ?? {};
  assert.ok(actions?.includes('retry_raised') && actions.includes('pause'));
  await home.run(['inbox', 'pause', id]);
  const paused = (await inbox()).at(-1);
  assert.match(paused?.evidence[0] ?? '', /is paused/);
  const again = await home.run(['inbox', 'retry', paused?.id ?? '']);
  assert.deepEqual([again.code, again.out], [0, 'done after 8 calls\n']);
});

test('B39: a job that reaches the call limit is narrowed, and then finishes', { timeout: 120_000 }, async () => {
  const { id = '', actions } = (await halted()) ?? {};
  assert.ok(actions?.includes('narrow_scope') && actions.includes('retry_raised'));
  const { code, out } = await home.run(['inbox', 'narrow', id, 'calls 20']);
  assert.deepEqual([code, out], [0, 'done after 20 calls\n']);
  assert.deepEqual(await inbox(), []);
});

test('B40: a halted task can be retried, given back for a new plan, or dismissed', { timeout: 120_000 }, async () => {
  const card = await halted();
  assert.deepEqual(card?.actions, ['retry_raised', 'narrow_scope', 'pause', 'replan', 'dismiss']);
  const { code, out } = await home.run(['inbox', 'dismiss', card.id]);
  assert.deepEqual([code, out], [0, `dismissed ${card.id}\n`]);
  assert.deepEqual(await inbox(), []);
});

test('B44: a trip is a red card on the status board', { timeout: 120_000 }, async () => {
  const card = await halted();
  const lines: string[] = [];
  const terminal = { cwd: home.folder, env: { HOME: home.folder }, err: () => undefined, coloured: true };
  await main(['status', '--store', home.store], { ...terminal, out: (line) => lines.push(line) });
  const red = '\u001b[31mhalt\u001b[39m';
  assert.ok(
    lines.some((line) => line.includes(red) && line.includes('tool calls: 51 of 50')),
    lines.join('\n'),
  );
  await home.run(['inbox', 'dismiss', card?.id ?? '']);
});
