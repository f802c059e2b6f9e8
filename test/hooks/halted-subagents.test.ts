/** Subagents that are halted: each ends alone after a closing turn, and its parent reads of it and goes on. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { openHookMailbox } from '../../src/supervisor/hook-mailbox.ts';
import { bash, type Event, newSession, prompt, writeRunAround } from './hook-session.ts';

/** The events of a parent and its subagents. */
function newStory(context: TestContext, env: Readonly<Record<string, string>> = {}) {
  const session = newSession();
  context.after(session.clear);
  const send: typeof session.send = (event, more) => session.send(event, { ...env, ...more });
  const from = (id: string) => ({ agent_id: id, agent_type: id.startsWith('e') ? 'Explore' : 'Plan' });
  const sent = (id: string): Event => ({
    tool_name: 'Agent',
    tool_use_id: `call-${id}`,
    tool_input: { subagent_type: from(id).agent_type, prompt: `look for ${id}` },
  });
  return {
    ...session,
    send,
    async begin(...ids: readonly string[]) {
      for (const id of ids)
        assert.equal((await send({ ...sent(id), hook_event_name: 'PreToolUse' })).output, undefined);
      for (const id of ids) await send({ hook_event_name: 'SubagentStart', ...from(id) });
    },
    /** Makes one failing call again and again; returns what became of each. */
    async loop(id: string, calls: number): Promise<readonly string[]> {
      const became: string[] = [];
      for (let number = 1; number <= calls; number++) {
        const call = bash(`${id}-${number}`, 'npm test', id);
        const { output } = await send(call.pre);
        if (output === undefined) await send(call.failure);
        await send(call.batch);
        const said = output?.hookSpecificOutput?.permissionDecisionReason ?? 'ran';
        const what = said.startsWith('Switchgear halted this task.')
          ? 'halted'
          : said.startsWith('Call refused:')
            ? 'refused'
            : said;
        became.push(output?.continue === false ? 'ended' : what);
      }
      return became;
    },
    async end(...ids: readonly string[]) {
      for (const id of ids)
        await send({ hook_event_name: 'SubagentStop', ...from(id), last_assistant_message: 'I was halted.' });
      for (const id of ids) {
        const { agent_id: agentId, agent_type: agentType } = from(id);
        const content = [{ type: 'text', text: 'I was halted.' }];
        const tool_response = { status: 'completed', agentId, agentType, content };
        await send({ ...sent(id), hook_event_name: 'PostToolUse', tool_response });
      }
      const { output } = await send({ hook_event_name: 'PostToolBatch', tool_calls: [] });
      return output?.hookSpecificOutput?.additionalContext;
    },
    propose: async (id: string) => (await send({ ...sent(id), hook_event_name: 'PreToolUse' })).output,
    halts: () => session.journal().flatMap((entry) => (entry.type === 'task-halted' ? [entry.task] : [])),
  };
}

/** What becomes of the calls of a subagent that loops. */
const ends = [...Array<string>(5).fill('ran'), 'refused', 'refused', 'halted', 'ended', 'ended'];

test('a subagent that loops is told at call 8, ended at call 9, and halted alone', async (context) => {
  const { send, begin, loop, halts, cards } = newStory(context);
  await send(prompt('one'));
  await begin('e1');
  assert.deepEqual(await loop('e1', 10), ends);
  assert.deepEqual(halts(), ['hook-s-1#1/e1']);
  assert.deepEqual(
    cards().flatMap(({ kind, task }) => (kind === 'halt' ? [task] : [])),
    ['hook-s-1#1/e1'],
  );
});

test('the parent of a halted subagent goes on: before and after it reads why the subagent ended', async (context) => {
  const { send, begin, loop, end, propose, journal } = newStory(context);
  await send(prompt('one'));
  await begin('e1');
  await loop('e1', 9);
  for (const number of [1, 2]) {
    const call = bash(`m${number}`, `ls ${number}`);
    for (const event of [call.pre, call.post, call.batch]) assert.equal((await send(event)).output, undefined);
  }
  assert.equal(
    await end('e1'),
    "[switchgear] Switchgear halted the subagent 'Explore': Task stopped: the same call of 'Bash' failed 5 times " +
      "with 'exit code 1', with no change in between, and it came again although it was refused. " +
      'Its work is not finished.',
  );
  const call = bash('m3', 'pwd');
  for (const event of [call.pre, call.post, call.batch]) assert.equal((await send(event)).output, undefined);
  const returned = journal().flatMap((entry) => (entry.type === 'delegation-returned' ? [entry] : []));
  assert.deepEqual(
    returned.map(({ worker, failed, actual }) => [worker, failed, actual]),
    [['Explore', true, 1]],
    'it counts as a failure of the worker',
  );
  assert.equal(await propose('e2'), undefined, 'and the worker may be sent once more');
});

test('of two subagents the one that loops ends, and the other works on', async (context) => {
  const { send, begin, loop, end } = newStory(context);
  await send(prompt('one'));
  await begin('e1', 'p1');
  await loop('e1', 9);
  for (let number = 1; number <= 3; number++) {
    const call = bash(`p${number}`, `ls ${number}`, 'p1');
    for (const event of [call.pre, call.post, call.batch]) assert.equal((await send(event)).output, undefined);
  }
  assert.match((await end('p1', 'e1')) ?? '', /^\[switchgear\] Switchgear halted the subagent 'Explore': [^']*'Bash'/);
});

test('the parent of two subagents that are halted in one turn reads of both', async (context) => {
  const { send, begin, loop, end } = newStory(context);
  await send(prompt('one'));
  await begin('e1', 'p1');
  await loop('e1', 9);
  await loop('p1', 9);
  const note = (await end('e1', 'p1')) ?? '';
  assert.match(note, /halted the subagent 'Explore'/);
  assert.match(note, /halted the subagent 'Plan'/);
});

test('a run around the hooks is not told of a subagent that is halted alone', async (context) => {
  const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run' };
  const session = newStory(context, env);
  const { send, begin, loop, end } = session;
  writeRunAround(session, 't-run');
  await begin('e1');
  assert.deepEqual(await loop('e1', 10), ends);
  assert.match((await end('e1')) ?? '', /halted the subagent 'Explore'/);
  const opened = sqliteStore({ path: session.store.slice('sqlite:'.length) });
  context.after(() => opened.close());
  const mailbox = openHookMailbox(opened, 't-run');
  opened.shared.refresh();
  const haltCode = () => mailbox.state.halt?.stop.code;
  assert.equal(haltCode(), undefined);
  for (let number = 1; number <= 8; number++) {
    const call = bash(`m${number}`, 'npm test');
    if ((await send(call.pre)).output === undefined) await send(call.failure);
    else assert.equal((await send(call.batch)).output?.continue, number === 8 ? false : undefined);
  }
  opened.shared.refresh();
  assert.equal(haltCode(), 'tool_loop', 'the halt of the agent itself is told');
});

test('the halt of a parent ends its subagents at once, without a closing turn', async (context) => {
  const { send, begin } = newStory(context);
  const limit = { SWITCHGEAR_TASK_MAX_TOOL_CALLS: '2' };
  await send(prompt('one'), limit);
  await begin('e1');
  await send(bash('m1', 'ls').pre, limit);
  assert.equal((await send(bash('m2', 'pwd').pre, limit)).output?.continue, false);
  assert.equal((await send(bash('x1', 'id', 'e1').pre, limit)).output?.continue, false);
});
