/** Hooks of Claude Code on a real file: what is let through, refused and halted, and on whose account. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bash, type HookSession, newSession, prompt, recorded, stop } from './hook-session.ts';

function session(context: TestContext, host?: string): HookSession {
  const hookSession = newSession(host);
  context.after(hookSession.clear);
  return hookSession;
}

/** How many calls each task had, by the journal. */
function calls(hookSession: HookSession): Readonly<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (const { type, task = '' } of hookSession.journal()) {
    if (type === 'action-allowed' || type === 'action-refused') counted[task] = (counted[task] ?? 0) + 1;
  }
  return counted;
}

test('with hooks, a repeated failing call runs 5 times, is refused twice and halts at call 8', async (context) => {
  const hookSession = session(context);
  await hookSession.send(prompt('fix it'));
  const decisions: string[] = [];
  for (let number = 1; number <= 9; number++) {
    const call = bash(`c${number}`, 'npm test');
    const { output, code } = await hookSession.send(call.pre);
    assert.equal(code, 0);
    const ran = output === undefined;
    if (ran) assert.equal((await hookSession.send(call.failure)).output, undefined);
    else assert.equal(output.hookSpecificOutput?.permissionDecision, 'deny');
    const { output: after } = await hookSession.send(call.batch);
    decisions.push(ran ? 'ran' : output.continue === false ? 'halted' : 'refused');
    assert.equal(after?.continue === false, number >= 8, `the end of turn ${number}`);
  }
  assert.deepEqual(decisions, [...Array(5).fill('ran'), 'refused', 'refused', 'halted', 'halted']);
  const halts = hookSession.journal().filter(({ type }) => type === 'task-halted');
  assert.equal(halts.length, 1);
  assert.equal(hookSession.cards().filter(({ kind }) => kind === 'halt').length, 1);
});

test('the model gets a hint before a call is refused', async (context) => {
  const hookSession = session(context);
  let note: string | undefined;
  for (let number = 1; number <= 5; number++) {
    const call = bash(`c${number}`, 'npm test');
    await hookSession.send(call.pre);
    await hookSession.send(call.failure);
    note = (await hookSession.send(call.batch)).output?.hookSpecificOutput?.additionalContext ?? note;
  }
  assert.match(
    note ?? '',
    /^\[switchgear\] the same call of 'Bash' failed 5 times with 'exit code 1' in a row\. Doing/,
  );
});

test('a recording without failures is not changed, counts its 8 calls as 8, and ends its task', async (context) => {
  const hookSession = session(context);
  for (const event of recorded('healthy')) {
    const { output, code } = await hookSession.send(event);
    assert.equal(output, undefined);
    assert.equal(code, 0);
  }
  assert.deepEqual(Object.values(calls(hookSession)), [8]);
  const told = hookSession.journal().map(({ type }) => type);
  assert.equal(told.filter((type) => type === 'task-started').length, 1);
  assert.equal(told.filter((type) => type === 'task-ended').length, 1);
  assert.equal(told.filter((type) => type === 'action-settled').length, 8);
});

for (const name of ['parallel', 'parallel-foreground']) {
  test(`in the recording ${name} three parallel subagents have separate counters`, async (context) => {
    const hookSession = session(context);
    for (const event of recorded(name)) assert.equal((await hookSession.send(event)).output, undefined);
    const counted = Object.entries(calls(hookSession));
    const [root] = counted.find(([task]) => !task.includes('/')) ?? [];
    assert.equal(counted.find(([task]) => task === root)?.[1], 3, 'the parent sent three');
    assert.deepEqual(
      counted.filter(([task]) => task !== root).map(([, count]) => count),
      [3, 3, 3],
    );
    const journal = hookSession.journal();
    const returned = journal.filter(({ type }) => type === 'delegation-returned');
    assert.equal(returned.length, 3);
    assert.ok(returned.every((entry) => 'failed' in entry && entry.failed === false));
    const begun = journal.filter(({ type }) => type === 'task-started').map(({ task }) => task);
    const ended = journal.filter(({ type }) => type === 'task-ended').map(({ task }) => task);
    assert.equal(begun.length, 4);
    assert.deepEqual(ended.toSorted(), begun.toSorted());
  });
}

test('a call that a host asks about twice under one id counts once and gets one answer', async (context) => {
  const hookSession = session(context);
  const call = bash('c1', 'ls');
  await hookSession.send(call.pre);
  await hookSession.send(call.pre);
  await hookSession.send(call.post);
  await hookSession.send(call.post);
  assert.deepEqual(Object.values(calls(hookSession)), [1]);
  assert.equal(hookSession.journal().filter(({ type }) => type === 'action-settled').length, 1);
});

test('a task lasts from the prompt of a person to the stop, across texts of the harness', async (context) => {
  const hookSession = session(context);
  await hookSession.send(prompt('one'));
  await hookSession.send({ ...stop, background_tasks: [{ id: 'a', type: 'subagent', status: 'running' }] });
  await hookSession.send(
    prompt('<task-notification>\n<task-id>a</task-id>\n<status>completed</status></task-notification>'),
  );
  await hookSession.send(bash('c1', 'ls').pre);
  await hookSession.send(bash('c1', 'ls').post);
  await hookSession.send(stop);
  await hookSession.send(prompt('two'));
  await hookSession.send(bash('c2', 'ls').pre);
  const begun = hookSession.journal().filter(({ type }) => type === 'task-started');
  assert.equal(begun.length, 2);
  assert.deepEqual(Object.values(calls(hookSession)), [1, 1]);
});

test('after a halt the next prompt of a person starts a new task', async (context) => {
  const hookSession = session(context);
  const limits = { SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
  await hookSession.send(prompt('one'), limits);
  await hookSession.send(bash('c1', 'ls').pre, limits);
  assert.equal((await hookSession.send(bash('c2', 'pwd').pre, limits)).output?.continue, false);
  assert.equal((await hookSession.send(bash('c3', 'id').pre, limits)).output?.continue, false);
  await hookSession.send(prompt('two'), limits);
  assert.equal((await hookSession.send(bash('c4', 'ls').pre, limits)).output, undefined);
});

test('unknown events are ignored without output', async (context) => {
  const hookSession = session(context);
  assert.deepEqual(await hookSession.send({ hook_event_name: 'PreCompact' }), { code: 0, output: undefined, err: '' });
  assert.deepEqual(await hookSession.send({ hook_event_name: 'SessionStart' }), {
    code: 0,
    output: undefined,
    err: '',
  });
});

test('if the store cannot be used, a call is refused and all other events pass', async (context) => {
  const hookSession = session(context);
  const env = { SWITCHGEAR_STORE: `sqlite:${hookSession.folder}` };
  const { output } = await hookSession.send(bash('c1', 'ls').pre, env);
  assert.equal(output?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match(output?.hookSpecificOutput?.permissionDecisionReason ?? '', /could not decide.*Ask the person/s);
  assert.deepEqual(await hookSession.send(stop, env), { code: 0, output: undefined, err: '' });
});

test('a call that a person denied ends with the turn and is not a failure', async (context) => {
  const hookSession = session(context);
  const call = bash('c1', 'rm -r build');
  await hookSession.send(call.pre);
  await hookSession.send(call.batch);
  const settled = hookSession.journal().find(({ type }) => type === 'action-settled');
  assert.ok(settled !== undefined && 'outcome' in settled);
  assert.deepEqual(settled.outcome, { kind: 'neutral', why: 'cancelled' });
  await hookSession.send(call.post);
  assert.equal(hookSession.journal().filter(({ type }) => type === 'action-settled').length, 1);
});
