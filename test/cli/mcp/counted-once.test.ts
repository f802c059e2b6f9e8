/** An agent with hooks that calls an MCP server through the proxy, on one store: each call counts once. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { after, test as plainTest } from 'node:test';
import type { Entry } from '../../../src/core/event.ts';
import { collectOutput } from '../../harness/child-output.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { type Answer, type Event, type HookSession, newSession, writeRunAround } from '../../hooks/hook-session.ts';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import { ProxyProcess, type ToolResult } from './proxy-process.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 60_000 }, run);
const cleanups: (() => unknown)[] = [];
after(() => {
  for (const clean of cleanups) clean();
});

type Send = (event: Event) => Promise<Answer>;

interface Agent {
  readonly session: HookSession;
  readonly proxy: ProxyProcess;
  /** Makes a call as Claude Code does; returns undefined if the hook refused it. */
  call(tool: string, input: object): Promise<ToolResult | undefined>;
  hook: Send;
  entries<T extends Entry['type']>(type: T): readonly Extract<Entry, { readonly type: T }>[];
}

/** How many ids of calls were used. */
let ids = 0;

interface AgentOptions {
  readonly store?: string;
  readonly hookEnv?: Readonly<Record<string, string>>;
  /** The task of a run around the agent. */
  readonly run?: string;
  readonly host?: string;
}

async function startAgent(policy: string, { store, hookEnv = {}, run, host }: AgentOptions = {}): Promise<Agent> {
  const session = newSession(host);
  if (run !== undefined) writeRunAround(session, run);
  const runEnv = run === undefined ? {} : { SWITCHGEAR_TASK: run };
  const address = store ?? session.store;
  const file = `${session.folder}/switchgear.toml`;
  writeFileSync(file, policy);
  const place = { folder: session.folder, store: address, log: `${session.folder}/server.log`, clear: session.clear };
  const proxy = new ProxyProcess(place, { options: ['--policy', file], env: runEnv });
  cleanups.push(() => proxy.child.kill('SIGKILL'), session.clear);
  await proxy.initialize();
  const env = { SWITCHGEAR_STORE: address, ...runEnv, ...hookEnv };
  const hook: Send = (event) => session.send(event, env, ['--policy', file]);
  return {
    session,
    proxy,
    hook,
    async call(tool, input) {
      const call = makeCall(`toolu_${++ids}`, tool, input);
      const { output } = await hook(call.pre);
      if (output?.hookSpecificOutput?.permissionDecision === 'deny' || output?.continue === false) return undefined;
      const result = await request(proxy, tool, input, call.id);
      await hook(result.isError ? call.failure(result) : call.post(result));
      await hook({ hook_event_name: 'PostToolBatch', tool_calls: [] });
      return result;
    },
    entries: (type) => session.journal().filter((entry) => entry.type === type) as never,
  };
}

function makeCall(id: string, tool: string, input: object) {
  const call = { permission_mode: 'default', tool_name: `mcp__scripted__${tool}`, tool_input: input, tool_use_id: id };
  return {
    id,
    pre: { ...call, hook_event_name: 'PreToolUse' },
    post: (result: ToolResult) => ({ ...call, hook_event_name: 'PostToolUse', tool_response: result.content }),
    failure: ({ content }: ToolResult) => ({
      ...{ ...call, hook_event_name: 'PostToolUseFailure', error: content[0]?.text, is_interrupt: false },
    }),
  };
}

/** Sends a call to the proxy, with the `_meta` of Claude Code if there is an id. */
async function request(proxy: ProxyProcess, tool: string, input: object, id?: string): Promise<ToolResult> {
  const _meta = { ...(id && { 'claudecode/toolUseId': id }), progressToken: ++ids };
  return (await proxy.request('tools/call', { name: tool, arguments: input, _meta })).result as ToolResult;
}

const fails = (bytes: number) => ({ bytes, isError: true });
const works = (bytes: number) => ({ bytes, isError: false });

test('five failures open the breaker, none twice; the probe of the hook is that of the proxy', async () => {
  const agent = await startAgent('[circuit_breaker]\nrecovery_timeout_secs = 1\n');
  for (let at = 1; at <= 5; at++) assert.equal((await agent.call('big', fails(at)))?.isError, true);
  const counted = agent.entries('failure-counted').filter(({ name }) => name === 'mcp__scripted__big');
  assert.deepEqual(
    counted.map(({ actual }) => actual),
    [1, 2, 3, 4, 5],
  );
  assert.equal(agent.entries('breaker-opened').length, 1);
  assert.equal(await agent.call('big', works(6)), undefined, 'the hook refuses');
  const calls = () => ProxyProcess.readLog({ log: `${agent.session.folder}/server.log` } as never).length;
  const before = calls();
  // After the recovery timeout the hook takes the probe, and the proxy must have it.
  let result: ToolResult | undefined;
  for (let at = 7; result === undefined; at++) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    result = await agent.call('big', works(at));
  }
  assert.equal(result.isError, false);
  assert.equal((await agent.call('big', works(99)))?.isError, false);
  assert.equal(calls(), before + 2);
  assert.equal(agent.entries('breaker-closed').length, 1, 'two successes close it');
});

test('frequency rules and joint budgets count a call once', async () => {
  const policy = [
    '[[rules]]\ncondition = "frequency>4/1h"\ntarget = "tool:mcp__scripted__echo"\naction = "throttle"\n',
    '[[budgets]]\nscope = "project"\nunit = "calls"\nlimit = 6\nwindow_secs = 3600\n',
  ].join('\n');
  const agent = await startAgent(policy);
  for (let at = 1; at <= 4; at++) assert.equal((await agent.call('echo', { at }))?.isError, false, `call ${at}`);
  assert.equal(await agent.call('echo', { at: 5 }), undefined, 'the rule refuses the fifth');
  assert.equal((await agent.call('big', works(1)))?.isError, false, 'the fifth of the budget');
  assert.equal((await agent.call('big', works(2)))?.isError, false, 'the sixth');
  assert.equal(await agent.call('big', works(3)), undefined, 'the budget is used up');
});

const callBudget = '[[budgets]]\nscope = "project"\nunit = "calls"\nlimit = 4\nwindow_secs = 3600\n';

test('Codex sends the id of its hooks as callId: each call counts once, ended by a hook or not', async () => {
  const agent = await startAgent(callBudget, { host: 'codex' });
  const call = async (tool: string, input: object, callId: string) => {
    const event = { tool_name: `mcp__scripted__${tool}`, tool_input: input, tool_use_id: callId, turn_id: 't' };
    const { output } = await agent.hook({ ...event, hook_event_name: 'PreToolUse' });
    if (output !== undefined) return undefined;
    const _meta = { callId, 'x-codex-turn-metadata': { turn_id: 't' }, itemId: 'f', progressToken: ++ids };
    const answer = await agent.proxy.request('tools/call', { name: tool, arguments: input, _meta });
    const result = answer.result as ToolResult;
    // Codex runs no hook after an MCP tool that failed.
    if (!result.isError) await agent.hook({ ...event, hook_event_name: 'PostToolUse', tool_response: result });
    return result;
  };
  assert.equal((await call('big', fails(1), 'call_1'))?.isError, true);
  assert.equal((await call('big', works(2), 'call_2'))?.isError, false);
  assert.equal((await call('big', fails(3), 'call_3'))?.isError, true);
  assert.equal((await call('big', works(4), 'call_4'))?.isError, false);
  assert.equal(await call('big', works(5), 'call_5'), undefined, 'the budget of four is used up');
  const counted = agent.entries('failure-counted').filter(({ name }) => name === 'mcp__scripted__big');
  assert.deepEqual(
    counted.map(({ actual }) => actual),
    [1, 1],
  );
});

test('Gemini CLI has other names of tools and no ids: each call counts once', async () => {
  const agent = await startAgent(callBudget, { host: 'gemini' });
  const mcp_context = { server_name: 'scripted', tool_name: 'big' };
  const call = async (input: object) => {
    const event = { tool_name: 'mcp_scripted_big', tool_input: input, mcp_context };
    const { output } = await agent.hook({ ...event, hook_event_name: 'BeforeTool' });
    if (output !== undefined) return undefined;
    const result = await request(agent.proxy, 'big', input);
    const error = result.isError ? { error: { message: 'failed', type: 'mcp_tool_error' } } : {};
    await agent.hook({ ...event, hook_event_name: 'AfterTool', tool_response: { llmContent: 'text', ...error } });
    return result;
  };
  for (const at of [1, 2, 3, 4]) assert.equal((await call(fails(at)))?.isError, true, `call ${at}`);
  assert.equal(await call(works(5)), undefined, 'the budget of four is used up');
  assert.deepEqual(
    agent.entries('failure-counted').map(({ name, actual }) => `${name} ${actual}`),
    [1, 2, 3, 4].map((at) => `mcp__scripted__big ${at}`),
  );
});

test('hooks of Gemini CLI and the proxy share the breaker of a tool', async () => {
  const agent = await startAgent('', { host: 'gemini' });
  for (let at = 1; at <= 5; at++) assert.equal((await request(agent.proxy, 'big', fails(at))).isError, true);
  const mcp_context = { server_name: 'scripted', tool_name: 'big' };
  const event = { tool_name: 'mcp_scripted_big', tool_input: works(6), mcp_context };
  const { output } = await agent.hook({ ...event, hook_event_name: 'BeforeTool' });
  assert.equal(output?.decision, 'deny');
});

test('loops and limits of the task are those of the hooks; the session of the proxy does not count', async () => {
  const agent = await startAgent('[task]\nmax_tool_calls = 8\n');
  let calls = 0;
  while ((await agent.call('big', works(1))) !== undefined) calls++;
  assert.ok(calls >= 2 && calls <= 8, `${calls} calls`);
  await agent.hook({ hook_event_name: 'UserPromptSubmit', permission_mode: 'default', prompt: 'go on' });
  for (let at = 2; at <= 8; at++) assert.equal((await agent.call('big', works(at)))?.isError, false, `call ${at}`);
  const refused = new Set(agent.entries('action-refused').map(({ task }) => task));
  assert.deepEqual([...refused], ['hook-s-1#1']);
});

test('a question that the terminal answered is not asked again by the proxy, and the call counts once', async () => {
  const policy = '[[rules]]\ncondition = "ability:mcp__scripted__fail"\naction = "confirm"\n';
  const agent = await startAgent(policy, { hookEnv: { CLAUDE_CODE_ENTRYPOINT: 'cli' } });
  const result = await agent.call('fail', { at: 1 });
  assert.match(result?.content[0]?.text ?? '', /failed at/);
  assert.deepEqual(
    agent.entries('failure-counted').map(({ actual }) => actual),
    [1],
  );
  // A call that no hook has seen is the proxy's to judge.
  const asked = request(agent.proxy, 'fail', { at: 1 });
  const isAsked = async () => {
    while (agent.session.cards().length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    return 'asked';
  };
  assert.equal(await Promise.race([asked, isAsked()]), 'asked');
});

test('the id of an approved call does not approve another tool, or the same tool with other arguments', async () => {
  const policy = '[[rules]]\ncondition = "ability:mcp__scripted__*"\naction = "confirm"\n';
  const agent = await startAgent(policy, { hookEnv: { CLAUDE_CODE_ENTRYPOINT: 'cli' } });
  const { id, pre } = makeCall('toolu_approved', 'echo', { at: 1, nonce: 'a' });
  await agent.hook(pre);
  // Equal fingerprints: a nonce does not count as a difference.
  const others = [
    ['big', { at: 1, nonce: 'a' }],
    ['echo', { at: 2, nonce: 'a' }],
    ['echo', { at: 1, nonce: 'b' }],
  ] as const;
  const answers: string[] = [];
  for (const [tool, input] of others)
    request(agent.proxy, tool, input, id).then(
      () => answers.push(`${tool} ${JSON.stringify(input)}`),
      () => undefined, // The proxy has ended.
    );
  const isOpen = () => agent.session.cards().filter(({ state }) => state === 'open').length === others.length;
  while (!isOpen() && answers.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(answers, [], 'each of them is asked about');
  assert.equal(
    (await request(agent.proxy, 'echo', { at: 1, nonce: 'a' }, id)).isError,
    false,
    'the approved one is not',
  );
});

test('a proxy alone counts, also beside the hooks of another agent, and hooks alone count', async () => {
  const agent = await startAgent('');
  for (const at of [1, 2]) await request(agent.proxy, 'big', fails(at), `other_${at}`);
  await agent.hook(makeCall('direct', 'big', fails(3)).pre);
  await agent.hook(makeCall('direct', 'big', fails(3)).failure({ content: [{ type: 'text', text: 'x' }] }));
  const counted = agent.entries('failure-counted').map(({ actual }) => actual);
  assert.deepEqual(counted, [1, 2, 3]);
});

test('below a run with hooks, a proxied failure counts once', async () => {
  const agent = await startAgent('', { run: 'run-1' });
  for (const at of [1, 2, 3]) assert.equal((await agent.call('big', fails(at)))?.isError, true);
  const counted = agent.entries('failure-counted').map(({ actual }) => actual);
  assert.deepEqual(counted, [1, 2, 3]);
});

test('equal calls at once are found by their input where the client sends no id', async () => {
  const agent = await startAgent('');
  const hook = (event: Event) => runHook(agent.session, event);
  const calls = [makeCall('p1', 'big', fails(1)), makeCall('p2', 'big', fails(1))];
  for (const { pre } of calls) assert.equal(await hook(pre), '');
  // The second is answered and reported before the first reaches the proxy.
  await hook(calls[1]!.failure(await request(agent.proxy, 'big', fails(1))));
  await hook(calls[0]!.failure(await request(agent.proxy, 'big', fails(1))));
  assert.deepEqual(
    agent.entries('failure-counted').map(({ actual }) => actual),
    [1, 2],
  );
});

testWithRedis('over Redis five failures open the breaker, none twice', async () => {
  const server = await startRedis();
  cleanups.push(server.stop);
  const agent = await startAgent('', { store: server.url });
  for (let at = 1; at <= 5; at++) assert.equal((await agent.call('big', fails(at)))?.isError, true, `call ${at}`);
  assert.equal(await agent.call('big', works(6)), undefined, 'the hook refuses');
  const refused = await request(agent.proxy, 'big', works(7));
  assert.equal(refused.structuredContent?.circuit_open, true);
});

/** A hook as a process of its own, started by the same process as the proxy. */
function runHook({ folder, store }: HookSession, event: Event): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bin, 'hook', 'claude-code'], {
      cwd: folder,
      env: { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: store },
    });
    const { out, err } = collectOutput(child);
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve(out()) : reject(new Error(err()))));
    child.stdin.end(JSON.stringify({ session_id: 's-1', cwd: folder, ...event }));
  });
}
