/** A question of a hook that a person answers with another input: the host runs that input, if all rules allow it. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { answerQuestion } from '../../src/operator/cards.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { bash, briefTimeout, type Event, type HookSession, newSession } from './hook-session.ts';

const rules = [
  { target: 'Bash', condition: 'ability:Bash', action: 'confirm', reason: 'a shell can do anything' },
  { target: '*', condition: 'timeout>9000', action: 'abort', reason: 'never this' },
  { target: '*', condition: 'timeout>5000', action: 'confirm', reason: 'careful here' },
];
const shell = { target: '*', condition: 'ability:run_shell_command', action: 'confirm', reason: 'a shell' };

function session(context: TestContext, host?: string): HookSession {
  const hookSession = newSession(host);
  context.after(hookSession.clear);
  writeFileSync(join(hookSession.folder, 'switchgear.json'), JSON.stringify({ rules: [...rules, shell] }));
  return hookSession;
}

const propose = (hookSession: HookSession, event: Event) => hookSession.send(event, {}, briefTimeout());

/** Answers the open question as the inbox does. */
async function answer(hookSession: HookSession, edited?: unknown): Promise<string> {
  const store = sqliteStore({ path: hookSession.store.slice('sqlite:'.length) });
  const from = { how: 'operator', processes: 'bash (1)' } as const;
  try {
    const { id } = store.cards().find(({ state }) => state === 'open')!;
    const said = edited === undefined ? 'approve' : 'approve_edited';
    const text = edited === undefined ? undefined : JSON.stringify(edited);
    await answerQuestion(store, id, said, { by: 'ann', from }, text);
    return id;
  } finally {
    store.close();
  }
}

const statesOf = (hookSession: HookSession) =>
  hookSession
    .cards()
    .filter(({ kind }) => kind === 'ask')
    .map(({ state }) => state)
    .toSorted();
const countOf = (hookSession: HookSession, wanted: string) =>
  hookSession.journal().filter(({ type }) => type === wanted).length;

/** Whether a text is in anything that a person or program can read of the store without its key. */
function isReadable(hookSession: HookSession, text: string): boolean {
  return JSON.stringify([hookSession.cards(), hookSession.journal()]).includes(text);
}

test('Claude Code runs the edited input: the card is for it, and its result settles the call', async (context) => {
  const hookSession = session(context);
  await propose(hookSession, bash('c1', 'rm -rf build').pre);
  const asked = hookSession.cards()[0]!;
  assert.deepEqual(asked.actions, ['approve', 'approve_edited', 'decline']);
  await answer(hookSession, { command: 'rm -rf build/tmp' });
  const call = bash('c2', 'rm -rf build');
  const { output } = await propose(hookSession, call.pre);
  const allowed = { hookEventName: 'PreToolUse', permissionDecision: 'allow' };
  assert.deepEqual(output?.hookSpecificOutput, { ...allowed, updatedInput: { command: 'rm -rf build/tmp' } });
  const [used] = hookSession.cards();
  assert.deepEqual([used?.state, used?.answer, used?.by], ['used', 'approve_edited', 'ann']);
  assert.notEqual(used?.digest, asked.digest, 'the digest is that of the edited call');
  // A host that runs the hook twice gets the same answer twice, and the input that it runs needs no other.
  assert.deepEqual((await propose(hookSession, call.pre)).output, output);
  assert.equal((await propose(hookSession, bash('c2', 'rm -rf build/tmp').pre)).output, undefined);
  assert.equal(countOf(hookSession, 'action-allowed'), 1);
  await hookSession.send({ ...call.post, tool_input: { command: 'rm -rf build/tmp' } });
  assert.equal(countOf(hookSession, 'action-settled'), 1);
  assert.equal(isReadable(hookSession, 'build/tmp'), false);
  // The approval was for one call.
  await propose(hookSession, bash('c3', 'rm -rf build').pre);
  assert.deepEqual(statesOf(hookSession), ['open', 'used']);
});

test('a rule that forbids the edited input refuses the call; so does the check of our own files', async (context) => {
  const hookSession = session(context);
  const forbidden = [
    [{ command: `rm ${join(hookSession.folder, 'switchgear.json')}` }, /only a person/],
    [{ command: 'ls', timeout: 9001 }, /never this/],
  ] as const;
  for (const [at, [edited, reason]] of forbidden.entries()) {
    await propose(hookSession, bash(`a${at}`, `ls ${at}`).pre);
    await answer(hookSession, edited);
    const { output } = await propose(hookSession, bash(`b${at}`, `ls ${at}`).pre);
    assert.equal(output?.hookSpecificOutput?.permissionDecision, 'deny');
    assert.match(output?.hookSpecificOutput?.permissionDecisionReason ?? '', reason);
  }
  assert.deepEqual(statesOf(hookSession), ['used', 'used']);
  assert.equal(countOf(hookSession, 'action-allowed'), 0);
});

test('a rule that did not ask before asks about the edited input', async (context) => {
  const hookSession = session(context);
  await propose(hookSession, bash('c1', 'ls').pre);
  await answer(hookSession, { command: 'ls', timeout: 6000 });
  const pending = await propose(hookSession, bash('c2', 'ls').pre);
  assert.match(pending.output?.hookSpecificOutput?.permissionDecisionReason ?? '', /pending/);
  assert.deepEqual(statesOf(hookSession), ['answered', 'open']);
  await answer(hookSession);
  const { output } = await propose(hookSession, bash('c3', 'ls').pre);
  assert.deepEqual((output?.hookSpecificOutput as { updatedInput?: unknown })?.updatedInput, {
    command: 'ls',
    timeout: 6000,
  });
  assert.deepEqual(statesOf(hookSession), ['used', 'used']);
});

test('an edit that is not one object is refused before anything is recorded', async (context) => {
  const hookSession = session(context);
  await propose(hookSession, bash('c1', 'ls').pre);
  for (const edited of ['ls -l', [{ command: 'ls' }, 1], 7, null])
    await assert.rejects(answer(hookSession, edited), /takes one JSON object/);
  assert.deepEqual(statesOf(hookSession), ['open']);
});

const gemini = (input: object) => ({ tool_name: 'run_shell_command', tool_input: input });
const before = (input: object) => ({ hook_event_name: 'BeforeTool', ...gemini(input) });
const after = (input: object) => ({
  hook_event_name: 'AfterTool',
  ...gemini(input),
  tool_response: { llmContent: 'Output: done' },
});

for (const reported of ['edited', 'original'] as const) {
  test(`Gemini CLI merges the edited input, and the ${reported} one ends the call`, async (context) => {
    const hookSession = session(context, 'gemini');
    const [original, edited] = [
      { command: 'ls', dir_path: '/tmp' },
      { command: 'ls -l', dir_path: '/tmp' },
    ];
    await propose(hookSession, before(original));
    await assert.rejects(answer(hookSession, { command: 'ls -l' }), /no field can be left out: dir_path/);
    await answer(hookSession, edited);
    const { output } = await propose(hookSession, before(original));
    const hookSpecificOutput = { hookEventName: 'BeforeTool', tool_input: edited };
    assert.deepEqual(output, { decision: 'allow', hookSpecificOutput });
    await hookSession.send(after(reported === 'edited' ? edited : original));
    assert.equal(countOf(hookSession, 'action-settled'), 1);
    assert.equal(isReadable(hookSession, 'dir_path'), false);
  });
}

test('Codex runs a call as it is, so an edit is refused in one sentence and nothing is recorded', async (context) => {
  const hookSession = session(context, 'codex');
  await propose(hookSession, bash('c1', 'ls').pre);
  assert.deepEqual(hookSession.cards()[0]?.actions, ['approve', 'decline']);
  await assert.rejects(answer(hookSession, { command: 'pwd' }), /cannot be edited.*runs with its own/);
  assert.deepEqual(statesOf(hookSession), ['open']);
});
