import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { answerStoredCard } from '../../src/chains/run/approval/stored-card.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { bash, briefTimeout, newSession } from './hook-session.ts';

test('hooks hold the limits of one tool: in a task, and in the session', async (context) => {
  const session = newSession();
  context.after(() => session.clear());
  writeFileSync(join(session.folder, 'switchgear.toml'), '[tools.Bash]\nmax_calls = 2\nmax_calls_session = 3\n');
  let calls = 0;
  const decide = async () => {
    const { pre, post } = bash(`c${++calls}`, `echo ${calls}`);
    const { output } = await session.send(pre);
    const decision = output?.hookSpecificOutput?.permissionDecision ?? 'allow';
    if (decision === 'allow') await session.send(post);
    return decision;
  };
  const prompt = () => session.send({ hook_event_name: 'UserPromptSubmit', prompt: `go on ${calls}` });
  await prompt();
  assert.deepEqual([await decide(), await decide(), await decide()], ['allow', 'allow', 'deny']);
  await prompt();
  assert.deepEqual([await decide(), await decide()], ['allow', 'deny']);
});

test('at_limit = "ask": hooks ask in the inbox, with one card for all calls at the limit', async (context) => {
  const session = newSession();
  context.after(() => session.clear());
  writeFileSync(join(session.folder, 'switchgear.toml'), '[task]\nmax_tool_calls = 1\nat_limit = "ask"\n');
  const trust = { SWITCHGEAR_POLICY: join(session.folder, 'switchgear.toml') };
  let calls = 0;
  const decide = async () => {
    const { pre, post } = bash(`c${++calls}`, `echo ${calls}`);
    const { output } = await session.send(pre, trust, briefTimeout());
    const { permissionDecision = 'allow', permissionDecisionReason = '' } = output?.hookSpecificOutput ?? {};
    if (permissionDecision === 'allow') await session.send(post, trust);
    return /pending/.test(permissionDecisionReason) ? 'pending' : permissionDecision;
  };
  const answer = async (said: 'approve' | 'decline') => {
    const store = sqliteStore({ path: session.store.slice('sqlite:'.length) });
    const open = store.cards().filter(({ kind, state }) => kind === 'ask' && state === 'open');
    assert.equal(open.length, 1, 'one question for both calls');
    await answerStoredCard(store, open[0]!.id, said, 'ann');
    store.close();
  };
  await session.send({ hook_event_name: 'UserPromptSubmit', prompt: 'go' }, trust);
  assert.equal(await decide(), 'allow');
  assert.deepEqual([await decide(), await decide()], ['pending', 'pending']);
  await answer('approve');
  assert.deepEqual([await decide(), await decide()], ['allow', 'pending']);
  await answer('decline');
  assert.equal(await decide(), 'deny');
  const halted = session.journal().filter(({ type }) => type === 'task-halted');
  assert.equal(halted.length, 1);
});
