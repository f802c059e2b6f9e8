/** A call that a rule wants asked about: at the host's own terminal, or by a card that outlives the hook. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { answerStoredCard } from '../../src/chains/run/approval/stored-card.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { bash, briefTimeout, type HookSession, newSession } from './hook-session.ts';

function session(context: TestContext): HookSession {
  const hookSession = newSession();
  context.after(hookSession.clear);
  const rule = { target: 'Bash', condition: 'ability:Bash', action: 'confirm', reason: 'a shell can do anything' };
  writeFileSync(join(hookSession.folder, 'switchgear.json'), JSON.stringify({ rules: [rule] }));
  return hookSession;
}

const atTerminal = { CLAUDE_CODE_SESSION_ATTENDED: '1', CLAUDE_CODE_ENTRYPOINT: 'cli' };

async function answerCards(hookSession: HookSession, answer: 'approve' | 'decline'): Promise<void> {
  const store = sqliteStore({ path: hookSession.store.slice('sqlite:'.length) });
  for (const { id, state } of store.cards()) {
    if (state === 'open') assert.equal((await answerStoredCard(store, id, answer, 'ann')).status, 'taken');
  }
  store.close();
}

test('with a person at the terminal the host asks, and the call counts once it has run', async (context) => {
  const hookSession = session(context);
  const call = bash('c1', 'ls');
  const { output } = await hookSession.send(call.pre, atTerminal);
  assert.equal(output?.hookSpecificOutput?.permissionDecision, 'ask');
  assert.match(output?.hookSpecificOutput?.permissionDecisionReason ?? '', /a shell can do anything/);
  assert.equal(hookSession.journal().filter(({ type }) => type === 'action-allowed').length, 0);
  await hookSession.send(call.post, atTerminal);
  const types = hookSession.journal().map(({ type }) => type);
  assert.equal(types.filter((type) => type === 'action-allowed').length, 1);
  assert.equal(types.filter((type) => type === 'action-settled').length, 1);
  assert.equal(hookSession.cards().length, 0);
});

test('without a person at the terminal, the question waits in the inbox for the same call', async (context) => {
  const hookSession = session(context);
  const first = await hookSession.send(bash('c1', 'ls').pre, {}, briefTimeout());
  assert.equal(first.output?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match(first.output?.hookSpecificOutput?.permissionDecisionReason ?? '', /pending.*again unchanged/s);
  assert.equal(hookSession.cards().length, 1);
  await answerCards(hookSession, 'approve');
  assert.equal((await hookSession.send(bash('c2', 'ls').pre, {}, briefTimeout())).output, undefined);
  assert.deepEqual(
    hookSession.cards().map(({ state }) => state),
    ['used'],
  );
  // A yes is for one call: the next one is asked about anew, and another command is another question.
  await hookSession.send(bash('c3', 'ls').pre, {}, briefTimeout());
  await hookSession.send(bash('c4', 'pwd').pre, {}, briefTimeout());
  assert.deepEqual(
    hookSession
      .cards()
      .map(({ state }) => state)
      .toSorted(),
    ['open', 'open', 'used'],
  );
});

test('an answer that comes while the hook waits lets the call go on at once', async (context) => {
  const hookSession = session(context);
  const asked = hookSession.send(bash('c1', 'ls').pre, {}, ['--timeout', '60']);
  while (hookSession.cards().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await answerCards(hookSession, 'approve');
  assert.equal((await asked).output, undefined);
});

test('a denial by a person is a refusal', async (context) => {
  const hookSession = session(context);
  await hookSession.send(bash('c1', 'ls').pre, {}, briefTimeout());
  await answerCards(hookSession, 'decline');
  const { output } = await hookSession.send(bash('c2', 'ls').pre, {}, briefTimeout());
  assert.equal(output?.hookSpecificOutput?.permissionDecision, 'deny');
  const refused = hookSession.journal().filter(({ type }) => type === 'action-refused');
  assert.equal(refused.length, 1);
});
