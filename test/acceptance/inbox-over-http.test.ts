/** Decisions over the API take effect in a waiting run and in a hook session: the limit and the words of a person. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { answerFromInbox } from '../../src/operator/inbox/answers.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { bash, newSession } from '../hooks/hook-session.ts';
import { serve } from '../server/server-setup.ts';
import { until } from '../supervisor/processes.ts';

const sixty = ['claude', '-p', 'calls 60'];

test('B39: a run that waits goes on with the limit that the page sets; a paused one by resume', {
  timeout: 180_000,
}, async () => {
  const home = createTestHome();
  after(home.clear);
  const path = home.store.slice('sqlite:'.length);
  const waiting = home.start(['run', '--quiet', '--wait', '10m', '--', ...sixty]);
  waiting.child.stdin.end();
  await until(() => waiting.err().includes('next:'));
  const store = sqliteStore({ path });
  const server = await serve(store);
  const findHalt = async () => (await server.send('GET', '/api/cards?kind=halt')).json.cards[0];
  const card = await findHalt();
  const { counters, raise, isAwaited } = card.details;
  assert.deepEqual([card.agent, isAwaited, raise.suggested, raise.max], ['claude-code', true, 100, 100]);
  assert.deepEqual(
    [counters[0].used, counters[0].limit, counters[0].setting, counters[0].source],
    [51, 50, 'task.max_tool_calls', 'default'],
  );
  const answers = await Promise.all(
    [70, 70].map((limit) => server.send('POST', `/api/cards/${card.id}/answer`, { answer: 'retry', limit })),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
  assert.deepEqual([(await waiting.finished).code, waiting.out()], [0, 'done after 8 calls\n']);
  const { effect } = (await server.send('GET', `/api/cards/${card.id}`)).json.card;
  assert.match(effect.sentence, /^ann raised task.max_tool_calls to 70: now \d+ of 70\.$/);

  assert.equal((await home.run(['run', '--quiet', '--max-calls', '50', '--', ...sixty])).code, 75);
  const halted = await findHalt();
  assert.deepEqual([halted.details.counters[0].source, halted.details.isAwaited], ['option --max-calls', false]);
  const refused = await server.send('POST', `/api/cards/${halted.id}/answer`, { answer: 'retry', limit: 60 });
  assert.deepEqual([refused.status, refused.json.error.code], [409, 'needs_terminal']);
  const paused = await server.send('POST', `/api/cards/${halted.id}/answer`, { answer: 'pause' });
  assert.equal(paused.json.effect.sentence, `ann paused it: it goes on with switchgear resume ${halted.task}.`);
  const resume = await server.send('POST', `/api/tasks/${halted.task}/resume`, {});
  assert.deepEqual([resume.status, resume.json.error.code], [409, 'needs_terminal']);
  const resumed = await home.run(['resume', halted.task]);
  assert.deepEqual([resumed.code, resumed.out], [0, 'done after 8 calls\n'], resumed.err);
  assert.equal((await home.run(['resume', halted.task])).code, 1);
  await server.close();
  store.close();
});

test('the note of a declined question reaches the agent of a hook', async (context) => {
  const session = newSession();
  context.after(session.clear);
  const rule = { target: 'Bash', condition: 'ability:Bash', action: 'confirm', reason: 'a shell can do anything' };
  writeFileSync(join(session.folder, 'switchgear.json'), JSON.stringify({ rules: [rule] }));
  const asked = session.send(bash('c1', 'rm -rf build').pre, {}, ['--timeout', '600']);
  const store = sqliteStore({ path: session.store.slice('sqlite:'.length) });
  await until(() => {
    store.shared.refresh();
    return store.cards().some(({ kind }) => kind === 'ask');
  });
  const { id, agent } = store.cards().find(({ kind }) => kind === 'ask')!;
  assert.equal(agent, 'claude-code');
  await answerFromInbox(store, id, { verb: 'decline', note: 'use git clean' }, { by: 'ann' });
  const { output } = await asked;
  assert.equal(output?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match(output?.hookSpecificOutput?.permissionDecisionReason ?? '', /ann says: use git clean/);
  store.close();
});
