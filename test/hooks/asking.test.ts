/** A call that a rule wants asked about: at the host's own terminal, or by a card that outlives the hook. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { answerStoredCard } from '../../src/chains/run/approval/answer-card.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { bash, type HookSession, newSession } from './session.ts';

function session(context: TestContext): HookSession {
  const made = newSession();
  context.after(made.clear);
  const rule = { target: 'Bash', condition: 'ability:Bash', action: 'confirm', reason: 'a shell can do anything' };
  writeFileSync(join(made.folder, 'switchgear.json'), JSON.stringify({ rules: [rule] }));
  return made;
}

const atTerminal = { CLAUDE_CODE_SESSION_ATTENDED: '1', CLAUDE_CODE_ENTRYPOINT: 'cli' };

async function answerCards(made: HookSession, answer: 'approve' | 'decline'): Promise<void> {
  const store = sqliteStore({ path: made.store.slice('sqlite:'.length) });
  for (const { id, state } of store.cards()) {
    if (state === 'open') assert.equal((await answerStoredCard(store, id, answer, 'ann')).status, 'taken');
  }
  store.close();
}

test('where a person sits at the terminal, the host asks; the call counts once it has run', async (context) => {
  const made = session(context);
  const call = bash('c1', 'ls');
  const { said } = await made.send(call.pre, atTerminal);
  assert.equal(said?.hookSpecificOutput?.permissionDecision, 'ask');
  assert.match(said?.hookSpecificOutput?.permissionDecisionReason ?? '', /a shell can do anything/);
  assert.equal(made.journal().filter(({ type }) => type === 'action-allowed').length, 0);
  await made.send(call.post, atTerminal);
  const types = made.journal().map(({ type }) => type);
  assert.equal(types.filter((type) => type === 'action-allowed').length, 1);
  assert.equal(types.filter((type) => type === 'action-settled').length, 1);
  assert.equal(made.cards().length, 0);
});

test('where nobody is there, the question waits in the inbox, and the same call finds the answer', async (context) => {
  const made = session(context);
  const first = await made.send(bash('c1', 'ls').pre, {}, ['--timeout', '1']);
  assert.equal(first.said?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match(first.said?.hookSpecificOutput?.permissionDecisionReason ?? '', /pending.*again unchanged/s);
  assert.equal(made.cards().length, 1);
  await answerCards(made, 'approve');
  assert.equal((await made.send(bash('c2', 'ls').pre, {}, ['--timeout', '1'])).said, undefined);
  assert.deepEqual(
    made.cards().map(({ state }) => state),
    ['used'],
  );
  // A yes is for one call: the next one is asked about anew, and another command is another question.
  await made.send(bash('c3', 'ls').pre, {}, ['--timeout', '1']);
  await made.send(bash('c4', 'pwd').pre, {}, ['--timeout', '1']);
  assert.deepEqual(
    made
      .cards()
      .map(({ state }) => state)
      .toSorted(),
    ['open', 'open', 'used'],
  );
});

test('an answer that comes while the hook waits lets the call go on at once', async (context) => {
  const made = session(context);
  const asked = made.send(bash('c1', 'ls').pre, {}, ['--timeout', '60']);
  while (made.cards().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await answerCards(made, 'approve');
  assert.equal((await asked).said, undefined);
});

test('a no is a refusal like any other', async (context) => {
  const made = session(context);
  await made.send(bash('c1', 'ls').pre, {}, ['--timeout', '1']);
  await answerCards(made, 'decline');
  const { said } = await made.send(bash('c2', 'ls').pre, {}, ['--timeout', '1']);
  assert.equal(said?.hookSpecificOutput?.permissionDecision, 'deny');
  const refused = made.journal().filter(({ type }) => type === 'action-refused');
  assert.equal(refused.length, 1);
});
