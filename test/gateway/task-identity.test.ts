import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identifyTask } from '../../src/gateway/task-identity.ts';
import { messageOf, openGateway, sendJson, sonnet } from './harness.ts';

const user = 'user_0a1b_account_11111111-2222-3333-4444-555555555555_session_99999999-8888-7777-6666-555555555555';

const cases: readonly (readonly [title: string, Parameters<typeof identifyTask>, id: string, session?: string])[] = [
  ['the path', ['build', { 'x-switchgear-task': 'other' }, {}], 'gw-build', 'gw-build'],
  ['a header', [undefined, { 'x-switchgear-task': 'nightly', 'x-switchgear-session': 's1' }, {}], 'gw-nightly', 's1'],
  ['the session of Claude Code', [undefined, { 'x-claude-code-session-id': 'abc' }, {}], 'gw-abc', 'gw-abc'],
  ['the session id of Codex', [undefined, { session_id: 'thread-1' }, { prompt_cache_key: 'p' }], 'gw-thread-1'],
  ['a conversation', [undefined, {}, { conversation: { id: 'conv_1' } }], 'gw-conv_1'],
  ['the cache key', [undefined, {}, { prompt_cache_key: 'p-1' }], 'gw-p-1'],
  [
    'the session in a user id',
    [undefined, {}, { metadata: { user_id: user } }],
    'gw-99999999-8888-7777-6666-555555555555',
  ],
  ['a user id', [undefined, {}, { metadata: { user_id: 'customer 7' } }], 'gw-customer 7'],
];

for (const [title, args, id, session] of cases) {
  test(`a task is named by ${title}`, () => {
    const identity = identifyTask(...args);
    assert.equal(identity.id, id);
    assert.equal(identity.isNamed, true);
    if (session !== undefined) assert.equal(identity.session, session);
  });
}

test('without a name the key names the task by its digest, and long or hostile names become short ones', () => {
  const { id, isNamed } = identifyTask(undefined, { 'x-api-key': 'sk-secret' }, {});
  assert.match(id, /^gw-key-[0-9a-f]{12}$/);
  assert.equal(isNamed, false);
  assert.notEqual(identifyTask(undefined, { authorization: 'Bearer other' }, {}).id, id);
  assert.ok(identifyTask('x'.repeat(5_000), {}, {}).id.length < 64);
  assert.ok([...identifyTask('a\u001b[31m\nb', {}, {}).id].every((letter) => letter >= ' '));
});

test('a subagent of Claude Code is a task below that of its session, which pays for it', async (context) => {
  const { post, task } = await openGateway(context, {
    limits: { maxSpendCents: 7 },
    answer: (_, response) => sendJson(response, messageOf('hi', 10_000, 100)),
  });
  const ask = { model: sonnet, max_tokens: 100, messages: [] };
  const session = { 'x-claude-code-session-id': 's1' };
  assert.equal((await post('/v1/messages', ask, session)).status, 200);
  assert.equal((await post('/v1/messages', ask, { ...session, 'x-claude-code-agent-id': 'a1' })).status, 200);
  assert.equal(task('gw-s1.a1').parent?.id, 'gw-s1');
  assert.equal(task('gw-s1').cells.budget.state.micros, 63_000);
  assert.equal((await post('/v1/messages', ask, { ...session, 'x-claude-code-agent-id': 'a2' })).status, 200);
  const refused = await post('/v1/messages', ask, { ...session, 'x-claude-code-agent-id': 'a3' });
  assert.equal(refused.status, 402);
});

const codexThread = { 'session-id': 's1', 'thread-id': 's1' };
const subagents: Readonly<Record<string, readonly [main: object, below: object]>> = {
  'Claude Code': [
    { 'x-claude-code-session-id': 's1' },
    { 'x-claude-code-session-id': 's1', 'x-claude-code-agent-id': 'a' },
  ],
  Codex: [codexThread, { ...codexThread, 'thread-id': 'a' }],
  opencode: [{ 'x-session-id': 's1' }, { 'x-session-id': 'a', 'x-parent-session-id': 's1' }],
};

for (const [client, [main, below]] of Object.entries(subagents)) {
  test(`a subagent is a task below that of its session: ${client}`, () => {
    const { id, parent } = identifyTask(undefined, { ...main }, { prompt_cache_key: 's1' });
    assert.deepEqual([id, parent], ['gw-s1', undefined]);
    const found = identifyTask(undefined, { ...below }, { prompt_cache_key: 's1' });
    assert.deepEqual([found.id, found.parent, found.session], ['gw-s1.a', 'gw-s1', 'gw-s1']);
  });
}

test('requests of one key without a name are one task', async (context) => {
  const { post, runtime } = await openGateway(context, {
    answer: (_, response) => sendJson(response, messageOf('hi', 1_000, 0)),
  });
  const ask = { model: sonnet, max_tokens: 100, messages: [] };
  for (const key of ['one', 'two', 'one']) await post('/v1/messages', ask, { 'x-api-key': key });
  const spent = [...runtime.tasks.values()].map(({ cells }) => cells.budget.state.micros);
  assert.deepEqual(spent.sort(), [3_000, 6_000]);
});
