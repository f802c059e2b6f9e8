/** What a session judges, how it counts answers, and that everything else passes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pendingMax } from '../../src/mcp/limits.ts';
import { type Frame, proxiedSession, turn } from './proxied-session.ts';

type Proxy = ReturnType<typeof proxiedSession>;

interface ToolResult {
  readonly _meta?: { readonly switchgear: Readonly<Record<string, unknown>> };
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly resultType?: string;
}

const resultOf = (frame: Frame | undefined) => frame?.result as ToolResult | undefined;

/** Calls a tool and answers; each call has arguments of its own. */
async function callAndFail(proxy: Proxy, tool: string, times: number) {
  for (let n = 0; n < times; n++) {
    const { id, isPassed } = proxy.call(tool, { n: `${tool} ${id36()}` });
    assert.equal(isPassed, true, `call ${n + 1} reaches the server: ${JSON.stringify(proxy.got(id))}`);
    proxy.fail(id, `error ${id36()}`);
    await undefined;
  }
}

let counter = 0;
const id36 = () => (++counter * 7919).toString(36);

test('a tool that fails five times is not reached a sixth time; other tools are', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  await callAndFail(proxy, 'read_doc', 5);
  const { id, isPassed } = proxy.call('read_doc', { n: 6 });
  assert.equal(isPassed, false);
  const result = resultOf(proxy.got(id));
  assert.equal(result?.isError, true);
  assert.match(result?.content[0]?.text ?? '', /out of order .*failed 5 times in a row/);
  assert.equal(proxy.call('other').isPassed, true);
});

test('after 60 s one probe passes, and two successes close the breaker', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  await callAndFail(proxy, 'read_doc', 5);
  proxy.clock.advance(59_000);
  assert.equal(proxy.call('read_doc', { n: 1 }).isPassed, false);
  proxy.clock.advance(1_000);
  const first = proxy.call('read_doc', { n: 2 });
  assert.equal(first.isPassed, true);
  assert.equal(proxy.call('read_doc', { n: 3 }).isPassed, false, 'one probe at once');
  proxy.succeed(first.id);
  const second = proxy.call('read_doc', { n: 4 });
  assert.equal(second.isPassed, true);
  proxy.succeed(second.id);
  assert.deepEqual(
    [proxy.call('read_doc', { n: 5 }).isPassed, proxy.call('read_doc', { n: 6 }).isPassed],
    [true, true],
  );
});

test('a failed probe opens the breaker again', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  await callAndFail(proxy, 'read_doc', 5);
  proxy.clock.advance(60_000);
  proxy.fail(proxy.call('read_doc', { n: 1 }).id);
  assert.equal(proxy.call('read_doc', { n: 2 }).isPassed, false);
});

test('the errors of a caller, cancelled calls, questions and tasks say nothing about a tool', async () => {
  const endings: Readonly<Record<string, (proxy: Proxy, id: number) => void>> = {
    'arguments that do not fit': (proxy, id) =>
      proxy.fromServer({ jsonrpc: '2.0', id, error: { code: -32602, message: `bad ${id36()}` } }),
    'an unknown tool': (proxy, id) =>
      proxy.fromServer({ jsonrpc: '2.0', id, error: { code: -32601, message: `no tool ${id36()}` } }),
    'headers that do not agree': (proxy, id) =>
      proxy.fromServer({ jsonrpc: '2.0', id, error: { code: -32020, message: `mismatch ${id36()}` } }),
    'a page that the user must open first': (proxy, id) =>
      proxy.fromServer({ jsonrpc: '2.0', id, error: { code: -32042, message: `open ${id36()}`, data: {} } }),
    'a result about arguments': (proxy, id) => proxy.fail(id, `MCP error -32602: Input validation error: ${id36()}`),
    cancelled: (proxy, id) =>
      proxy.fromClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }),
    'a question': (proxy, id) =>
      proxy.answer(id, { resultType: 'input_required', inputRequests: {}, requestState: 'x', isError: true }),
    'a task': (proxy, id) => proxy.answer(id, { resultType: 'task', taskId: 't', isError: true }),
    'an older task': (proxy, id) => proxy.answer(id, { task: { taskId: 't', status: 'working' }, isError: true }),
  };
  for (const [title, end] of Object.entries(endings)) {
    const proxy = proxiedSession();
    await proxy.open();
    await callAndFail(proxy, 'read_doc', 4);
    end(proxy, proxy.call('read_doc', { n: id36() }).id);
    proxy.succeed(proxy.call('other', { n: id36() }).id);
    assert.equal(proxy.gear.breaker('mcp__docs__read_doc').state, 'CLOSED', title);
    assert.equal(proxy.gear.breaker('mcp__docs__read_doc').stats.consecutiveFailures, 4, title);
    await callAndFail(proxy, 'read_doc', 1);
    assert.equal(proxy.gear.breaker('mcp__docs__read_doc').state, 'OPEN', title);
  }
});

test('errors of the server count for the tool, and only lost answers for the server', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  for (let n = 0; n < 5; n++) {
    const { id } = proxy.call('read_doc', { n });
    proxy.fromServer({ jsonrpc: '2.0', id, error: { code: -32603, message: `crash ${n}` } });
    await undefined;
  }
  assert.equal(proxy.gear.breaker('mcp__docs__read_doc').state, 'OPEN');
  assert.equal(proxy.gear.breaker('mcp__docs').state, 'CLOSED');
  for (let n = 0; n < 5; n++) {
    proxy.call('one', { n });
    proxy.call('two', { n });
    proxy.session.loseServer('The MCP server ended.');
  }
  assert.equal(proxy.gear.breaker('mcp__docs').state, 'OPEN');
  const { id, isPassed } = proxy.call('three');
  assert.equal(isPassed, false, 'a lost server is not called by another tool either');
  assert.match(resultOf(proxy.got(id))?.content[0]?.text ?? '', /'mcp__docs' is out of order/);
});

test('the time limit of a client counts as a time-out of tool and server', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  const reason = 'McpError: MCP error -32001: Request timed out';
  for (let n = 0; n < 5; n++) {
    const { id } = proxy.call('slow', { n });
    proxy.fromClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } });
    await undefined;
  }
  assert.equal(proxy.gear.breaker('mcp__docs__slow').state, 'OPEN');
  assert.equal(proxy.gear.breaker('mcp__docs').state, 'OPEN');
});

test('at the time limit of the policy the client is answered, and the late answer is dropped', async () => {
  const proxy = proxiedSession({ policy: { circuit_breaker: { timeout_secs: 5 } } });
  await proxy.open();
  const { id } = proxy.call('slow');
  proxy.clock.advance(5_001);
  await turn();
  assert.match(resultOf(proxy.got(id))?.content[0]?.text ?? '', /took longer than 5 s/);
  const told = proxy.server.frames.at(-1);
  assert.deepEqual([told?.method, (told?.params as Frame | undefined)?.requestId], ['notifications/cancelled', id]);
  proxy.succeed(id);
  assert.equal(proxy.client.frames.filter((frame) => frame.id === id).length, 1);
});

test('five missing files, and five that may not be read, leave the breaker of a tool closed', async () => {
  for (const [says, state] of [
    ["ENOENT: no such file or directory, open '/a'", 'CLOSED'],
    ['Error: file not found: /a', 'CLOSED'],
    ["EACCES: permission denied, open '/a'", 'CLOSED'],
    ['Access denied - path outside allowed directories: /a', 'CLOSED'],
    ['the disk does not answer', 'OPEN'],
    [`${'the index is broken, '.repeat(5)}ENOENT`, 'OPEN'],
  ] as const) {
    const proxy = proxiedSession();
    await proxy.open();
    for (const name of ['b', 'c', 'd', 'e', 'f']) {
      const { id, isPassed } = proxy.call('read_page', { path: name });
      assert.ok(isPassed);
      proxy.fail(id, says.replace('/a', `/${name}`));
      await turn();
    }
    assert.equal(proxy.gear.breaker('mcp__docs__read_page').state, state, says);
  }
});

test('a tool whose failures are data trips by the same error alone, under its plain name', async () => {
  const different = proxiedSession();
  await different.open();
  for (let n = 0; n < 7; n++) {
    different.fail(different.call('run_python', { n }).id, `NameError: ${'abcdefgh'[n]} is not defined`);
    await undefined;
  }
  assert.equal(different.gear.breaker('mcp__docs__run_python').state, 'CLOSED');
  const same = proxiedSession();
  await same.open();
  for (let n = 0; n < 5; n++) {
    same.fail(same.call('run_python', { code: `print(${n})` }).id, 'the interpreter is gone');
    await undefined;
  }
  assert.equal(same.gear.breaker('mcp__docs__run_python').state, 'OPEN');
});

test('a refusal has the five keys as structured content, unless the tool declares what its content is', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  proxy.fromClient({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  const tools = [
    { name: 'typed', inputSchema: {}, outputSchema: { type: 'object' } },
    { name: 'plain', inputSchema: {} },
  ];
  proxy.fromServer({ jsonrpc: '2.0', id: 'list', result: { tools } });
  for (const tool of ['plain', 'typed']) {
    await callAndFail(proxy, tool, 5);
    const result = resultOf(proxy.got(proxy.call(tool, { n: 6 }).id));
    assert.equal(result?.isError, true);
    assert.equal(result?.resultType, undefined);
    const { retryAfterSecs, retryAtMs } = result?._meta?.switchgear ?? {};
    assert.deepEqual([retryAfterSecs, retryAtMs], [60, undefined], 'the client does not know the clock');
    const keys = ['error', 'circuit_open', 'agent_name', 'session_id', 'remediation'];
    assert.deepEqual(
      result?.structuredContent && Object.keys(result.structuredContent),
      tool === 'plain' ? keys : undefined,
    );
  }
});

test('a refusal in the protocol of 2026-07-28 says that it is complete', async () => {
  const proxy = proxiedSession();
  await callAndOpen(proxy);
  await callAndFail(proxy, 'read_doc', 5);
  const { id } = proxy.call('read_doc', {}, { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } });
  assert.equal(resultOf(proxy.got(id))?.resultType, 'complete');
});

/** Opens the judge by a call, as a client of the newer protocol does. */
async function callAndOpen(proxy: Proxy) {
  const { id } = proxy.call('first');
  await turn();
  assert.equal(proxy.server.frames.at(-1)?.id, id);
  proxy.succeed(id);
}

test('calls that come before the judge is open are held, judged and passed in order', async () => {
  const proxy = proxiedSession();
  const calls = [1, 2, 3].map((n) => proxy.call('read_doc', { n }));
  assert.deepEqual(
    calls.map(({ isPassed }) => isPassed),
    [false, false, false],
  );
  await turn();
  assert.deepEqual(
    proxy.server.frames.map(({ id }) => id),
    calls.map(({ id }) => id),
  );
});

test('a call that a person must approve is held, others overtake it, and it can be cancelled', async () => {
  let answer: ((approved: boolean) => void) | undefined;
  const approver = {
    name: 'test',
    ask: () =>
      new Promise<{ approved: boolean; by: string }>((resolve) => {
        answer = (approved) => resolve({ approved, by: 'Ann' });
      }),
  };
  const policy = { rules: ['ability:*pay*|confirm|"money leaves"'] };
  const proxy = proxiedSession({ policy, approver });
  await proxy.open();
  const held = proxy.call('pay', { amount: 5 });
  assert.equal(held.isPassed, false);
  assert.equal(proxy.call('read').isPassed, true);
  await turn();
  answer?.(true);
  await turn();
  assert.equal(proxy.server.frames.at(-1)?.id, held.id, 'passed after the approval');
  const dropped = proxy.call('pay', { amount: 6 });
  await turn();
  const before = proxy.server.frames.length;
  proxy.fromClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: dropped.id } });
  answer?.(true);
  await turn();
  assert.equal(proxy.server.frames.length, before);
  assert.equal(proxy.got(dropped.id), undefined);
});

test('a batch passes as it is if its calls may pass, and not at all if one may not', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  const batch = (ids: readonly number[], names: readonly string[]) =>
    ids.map((id, at) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: names[at] } }));
  const text = `${JSON.stringify([...batch([901, 902], ['a', 'b']), { jsonrpc: '2.0', id: 903, method: 'ping' }])}\n`;
  proxy.fromClient(Buffer.from(text));
  assert.ok(proxy.server.text.endsWith(text));
  const answers = [901, 902].map((id) => ({ jsonrpc: '2.0', id, result: { content: [] } }));
  proxy.fromServer([...answers, { jsonrpc: '2.0', id: 903, result: {} }]);
  assert.equal(proxy.gear.breaker('mcp__docs__a').stats.totalSuccesses, 1);
  await callAndFail(proxy, 'b', 5);
  const before = proxy.server.text;
  proxy.fromClient(batch([911, 912], ['a', 'b']));
  assert.equal(proxy.server.text, before);
  assert.equal((proxy.got(911)?.error as Frame | undefined)?.code, 7503);
  assert.equal(resultOf(proxy.got(912))?.isError, true);
  assert.equal(proxy.gear.breaker('mcp__docs__a').stats.inFlight, 0);
});

test('two requests with one id, and ids that JavaScript cannot hold, keep their answers apart', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  const frame = (id: string, name: string) =>
    Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}\n`);
  const answer = (id: string, isError: boolean) =>
    Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"isError":${isError}}}\n`);
  proxy.fromClient(frame('9007199254740993', 'good'));
  proxy.fromClient(frame('9007199254740992', 'bad'));
  proxy.fromServer(answer('9007199254740992', true));
  proxy.fromServer(answer('9007199254740993', false));
  proxy.fromClient(frame('7', 'good'));
  proxy.fromClient(frame('7', 'bad'));
  proxy.fromClient(frame('"7"', 'text'));
  proxy.fromServer(answer('"7"', true));
  proxy.fromServer(answer('7', false));
  proxy.fromServer(answer('7', true));
  const failures = (name: string) => proxy.gear.breaker(`mcp__docs__${name}`).stats.totalFailures;
  assert.deepEqual(['good', 'bad', 'text'].map(failures), [0, 2, 1]);
});

test('a call without an id is judged, too', async () => {
  const proxy = proxiedSession({ policy: { rules: ['ability:*wipe*|abort|"never"'] } });
  await proxy.open();
  const before = proxy.server.text;
  proxy.fromClient({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'wipe' } });
  assert.equal(proxy.server.text, before);
});

test('the person at the client is asked by elicitation, of which the server sees nothing', async () => {
  const policy = { rules: ['ability:*pay*|confirm|"money leaves"'] };
  for (const [action, content, isPassed] of [
    ['accept', { approve: true }, true],
    ['accept', { approve: false }, false],
    ['decline', undefined, false],
  ] as const) {
    const proxy = proxiedSession({ policy, asksClient: true });
    proxy.fromClient({
      ...{ jsonrpc: '2.0', id: 'init', method: 'initialize' },
      params: { capabilities: { elicitation: {} }, clientInfo: { name: 'desk' } },
    });
    await proxy.open();
    const { id } = proxy.call('pay', { amount: 12345 });
    await turn();
    const question = proxy.client.frames.find(({ method }) => method === 'elicitation/create');
    assert.match(JSON.stringify(question?.params), /12345/);
    const before = proxy.server.text;
    proxy.fromClient({ jsonrpc: '2.0', id: question?.id, result: { action, content } });
    await turn();
    const passed = proxy.server.text.slice(before.length);
    assert.equal(passed.includes('"method":"tools/call"'), isPassed, `${action} ${JSON.stringify(content)}`);
    assert.ok(!passed.includes('switchgear-'));
    assert.equal(proxy.got(id) === undefined, isPassed);
  }
});

test('a client that cannot ask is not asked', async () => {
  const proxy = proxiedSession({ policy: { rules: ['ability:*pay*|confirm|"money leaves"'] }, asksClient: true });
  await proxy.open();
  const { id } = proxy.call('pay', { amount: 5 });
  await turn();
  assert.equal(
    proxy.client.frames.some(({ method }) => method === 'elicitation/create'),
    false,
  );
  assert.equal(resultOf(proxy.got(id))?.isError, true);
});

test('requests that come while the server is away are answered, and count for nobody', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  proxy.call('one');
  proxy.fromClient({ jsonrpc: '2.0', id: 'x', method: 'resources/list' });
  proxy.session.loseServer('The MCP server is away.', false);
  assert.equal((proxy.got(1)?.result as ToolResult | undefined)?.isError, true);
  assert.equal((proxy.client.frames.find(({ id }) => id === 'x')?.error as Frame | undefined)?.code, 7501);
  assert.equal(proxy.gear.breaker('mcp__docs').stats.totalFailures, 0);
  assert.equal(proxy.gear.breaker('mcp__docs__one').stats.totalFailures, 0);
});

test('requests that were cancelled, which servers do not answer, leave room for calls', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  for (let n = 0; n < pendingMax; n++) {
    proxy.fromClient({ jsonrpc: '2.0', id: `r${n}`, method: 'resources/read', params: { uri: 'a' } });
    proxy.fromClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: `r${n}` } });
  }
  assert.equal(proxy.call('read').isPassed, true);
});
