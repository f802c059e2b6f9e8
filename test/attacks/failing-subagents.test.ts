/** Attacks on the count of failed subagents: one word of the prompt is changed for each new subagent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protect } from '../../src/adapters/claude-agent-sdk/index.ts';
import { claudeCodeReader } from '../../src/agents/index.ts';
import { replay } from '../../src/core/replay/replay.ts';
import { createSwitchgear, type PolicyDocument } from '../../src/index.ts';
import { superviseRun } from '../agents/recording.ts';
import { newSession } from '../hooks/hook-session.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';

type Send = ReturnType<typeof newSession>['send'];

/** Sends failing subagents through the hooks of a host; returns how many were sent. */
async function sendThroughHooks(send: Send, tool: string, input: (n: number) => object): Promise<number> {
  await send({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
  for (let sent = 0; sent < 12; sent++) {
    const call = { tool_name: tool, tool_use_id: `c${sent}`, tool_input: input(sent) };
    const { output } = await send({ ...call, hook_event_name: 'PreToolUse' });
    if (output?.hookSpecificOutput?.permissionDecision === 'deny') return sent;
    await send({ ...call, hook_event_name: 'PostToolUseFailure', error: `it broke ${sent}` });
  }
  return 12;
}

for (const [host, tool, types] of [
  ['claude-code', 'Agent', { subagent_type: 'general-purpose' }],
  ['claude-code', 'Task', {}],
  ['codex', 'spawn_agent', {}],
  ['codex', 'spawn_agent', { agent_type: 'default' }],
] as const) {
  const title = `${host} ${tool} ${JSON.stringify(types)}`;
  test(`attack 35: a catch-all subagent with new prompts fails five times at most (${title})`, async () => {
    const session = newSession(host);
    try {
      const input = (n: number) => ({ ...types, prompt: `do it, try ${n}`, message: `do it, try ${n}` });
      assert.equal(await sendThroughHooks(session.send, tool, input), 5);
      const refused = session.journal().findLast((entry) => entry.type === 'action-refused');
      assert.match(JSON.stringify(refused), /"code":"delegation_limit".*"actual":5,"limit":5/);
      assert.deepEqual(session.cards(), [], 'the worker is refused, and nobody is halted');
      const other = {
        tool_name: tool,
        tool_use_id: 'o',
        tool_input: { subagent_type: 'Explore', agent_type: 'Explore' },
      };
      assert.equal((await session.send({ ...other, hook_event_name: 'PreToolUse' })).output, undefined);
    } finally {
      session.clear();
    }
  });
}

testWithRedis('attack 35: the count per type holds on Redis', async () => {
  const server = await startRedis();
  const session = newSession('claude-code');
  try {
    const send: Send = (event, env) => session.send(event, { ...env, SWITCHGEAR_STORE: server.url });
    assert.equal(await sendThroughHooks(send, 'Agent', (n) => ({ prompt: `do it, try ${n}` })), 5);
  } finally {
    session.clear();
    await server.stop();
  }
});

/** Lets a supervised run print failing subagents; returns the number that it let be sent, and its run. */
function runSubagents(types: readonly (string | undefined)[], policy: PolicyDocument = {}) {
  const run = superviseRun(claudeCodeReader(), { preset: 'delegation', ...policy });
  let sent = 0;
  for (; sent < types.length && run.accounting.halt === undefined; sent++) {
    const name = types[sent];
    run.account({
      type: 'subagent_started',
      id: `a${sent}`,
      ...(name !== undefined && { name }),
      prompt: `try ${sent}`,
    });
    run.account({ type: 'subagent_ended', id: `a${sent}`, ok: false, reason: `it broke ${sent}` });
  }
  return { ...run, sent };
}
const twelve = (name?: string) => Array.from({ length: 12 }, () => name);

test('attack 35: a run halts at the fifth failure of a catch-all type, and a replay agrees', () => {
  for (const name of ['general-purpose', 'default', 'general', undefined]) {
    const { sent, accounting, entries, gear } = runSubagents(twelve(name));
    assert.equal(sent, 5, name);
    assert.equal(accounting.halt?.code, 'delegation_limit');
    assert.match(accounting.halt?.message ?? '', /has failed 5 times with any prompt \(limit: 5\)/);
    assert.deepEqual(replay(entries, gear.settings).differences, []);
  }
});

test('attack 35: a run that may only refuse a worker goes on, and its counts are seen', () => {
  const policy: PolicyDocument = { delegation: { onTrip: 'deny' } };
  const { sent, accounting, gear } = runSubagents(twelve('general-purpose'), policy);
  assert.deepEqual([sent, accounting.halt], [12, undefined]);
  assert.equal(gear.snapshot().delegations.s?.['general-purpose#*'], 12);
});

test('attack 35: named types and the limits of a policy count as before', () => {
  assert.equal(runSubagents(twelve('Explore')).sent, 2);
  const named = Array.from({ length: 12 }, (_, n) => `worker#${n}`);
  assert.equal(runSubagents(named).sent, 12);
  assert.equal(runSubagents(twelve('general'), { delegation: { maxFailures: 7 } }).sent, 7);
  assert.equal(runSubagents(twelve('general'), { delegation: { workerLimits: { general: 3 } } }).sent, 3);
});

test('attack 35: the Claude Agent SDK refuses the sixth failing subagent of a catch-all type', async () => {
  for (const type of ['general-purpose', 'default', undefined]) {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    let given: Record<string, readonly { readonly hooks: readonly Hook[] }[]> | undefined;
    type Hook = (input: object, id: string, options: object) => Promise<{ continue?: boolean } | undefined>;
    const spy = protect(
      (params: { prompt: string; options?: object }) => {
        given = (params.options as { hooks: typeof given }).hooks;
        return (async function* () {})();
      },
      { gear, task: gear.startTask() },
    );
    spy({ prompt: 'Go on.' });
    const call = (event: string, input: object, id: string) =>
      given?.[event]?.[0]?.hooks[0]?.({ hook_event_name: event, ...input }, id, {
        signal: new AbortController().signal,
      });
    let sent = 0;
    for (; sent < 12; sent++) {
      const tool_input = { ...(type !== undefined && { subagent_type: type }), prompt: `try ${sent}` };
      const answer = await call('PreToolUse', { tool_name: 'Agent', tool_input }, `c${sent}`);
      if (JSON.stringify(answer ?? {}).includes('deny')) break;
      await call('PostToolUseFailure', { tool_name: 'Agent', tool_input, error: `it broke ${sent}` }, `c${sent}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(sent, 5, type);
  }
});
