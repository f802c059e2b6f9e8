/** Which tools a client sees and may call. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listBytesMax, readBytesMax } from '../../src/mcp/limits.ts';
import { type Frame, proxiedSession, turn } from './proxied-session.ts';

type Proxy = ReturnType<typeof proxiedSession>;

const toolNames = (frame: Frame | undefined) =>
  (frame?.result as { readonly tools: readonly { readonly name: string }[] } | undefined)?.tools.map(
    ({ name }) => name,
  );

const all = ['read_doc', 'read_page', 'delete_doc', 'search'];
const asTools = (names: readonly string[]) => names.map((name) => ({ name, inputSchema: { type: 'object' } }));

/** Asks for the list of tools and answers; returns what the client got. */
function list(proxy: Proxy, id: unknown, result: object = { tools: asTools(all) }, more: object = {}) {
  proxy.fromClient({ jsonrpc: '2.0', id, method: 'tools/list', ...more });
  proxy.fromServer({ jsonrpc: '2.0', id, result });
  return proxy.client.frames.find((frame) => frame.id === id && frame.method === undefined);
}

for (const [title, tools, seen] of [
  ['no list', {}, all],
  ['deny', { deny: ['delete_*'] }, ['read_doc', 'read_page', 'search']],
  ['allow', { allow: ['read_*', 'search'] }, ['read_doc', 'read_page', 'search']],
  ['both', { allow: ['read_*'], deny: ['read_page'] }, ['read_doc']],
  ['lists of this server', { allow: { docs: ['read_*'] }, deny: { 'd*': ['read_page'] } }, ['read_doc']],
  ['lists of another server', { allow: { mail: ['read_*'] }, deny: { mail: ['read_page'] } }, all],
  ['two lists of allow', { allow: { docs: ['read_*'], '*': ['*_doc'] } }, ['read_doc']],
  ['full names', { deny: ['mcp__docs__read_*', 'mcp__mail__search'] }, ['delete_doc', 'search']],
  ['another case', { deny: ['DELETE_Doc'] }, ['read_doc', 'read_page', 'search']],
] as const) {
  test(`${title}: a tool that is left out of the list is refused, and any other is called`, async () => {
    const proxy = proxiedSession({ policy: { mcp: { tools } } });
    await proxy.open();
    assert.deepEqual(toolNames(list(proxy, 'list')), seen);
    for (const name of all) {
      const { id, isPassed } = proxy.call(name, { name });
      assert.equal(isPassed, (seen as readonly string[]).includes(name), name);
      if (isPassed) proxy.succeed(id);
      else {
        const { isError, _meta } = proxy.got(id)!.result as { isError: boolean; _meta: { switchgear: object } };
        assert.equal(isError, true);
        assert.deepEqual(_meta.switchgear, {
          code: 'tool_not_allowed',
          control: 'mcp',
          kind: 'deny',
          counters: {},
          task: 't-s1-1',
        });
      }
      await undefined;
    }
  });
}

test('a forbidden name that looks like another is refused', async () => {
  const proxy = proxiedSession({ policy: { mcp: { tools: { deny: ['delete_doc'] } }, task: { maxDenials: 50 } } });
  await proxy.open();
  for (const name of ['delete_doc', ' delete_doc', 'delete\u200b_doc', 'ｄelete_doc', 'Delete_Doc', ['delete_doc']]) {
    assert.equal(proxy.call(name as string, { n: name }).isPassed, false, JSON.stringify(name));
    await undefined;
  }
});

test('an observing gear hides and refuses nothing', async () => {
  const proxy = proxiedSession({ policy: { mode: 'observe', mcp: { tools: { deny: ['*'] } } } });
  await proxy.open();
  assert.deepEqual(toolNames(list(proxy, 1)), all);
  assert.equal(proxy.call('read_doc').isPassed, true);
});

test('a list from which nothing is taken passes byte for byte', async () => {
  const proxy = proxiedSession({ policy: { mcp: { tools: { deny: ['x'] } } } });
  await proxy.open();
  proxy.fromClient({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const line = '{ "id" : 1, "result":{"tools":[{"name":"a","max":12345678901234567890, "max":1.0}]},"jsonrpc":"2.0"}\n';
  proxy.fromServer(Buffer.from(line));
  assert.equal(proxy.client.text, line);
});

test('what is left of a list keeps its members, numbers, page and hints', async () => {
  const proxy = proxiedSession({ policy: { mcp: { tools: { deny: ['gone'] } } } });
  await proxy.open();
  proxy.fromClient({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'a' } });
  const result = (tools: string, scope: string) =>
    `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[${tools}],"nextCursor":"b","ttlMs":5,` +
    `"cacheScope":"${scope}","_meta":{"x":1.0}},"vendor":true}\n`;
  const kept = '{"name":"kept","max":12345678901234567890,"min":-1e400,"rate":1.50,"vendor":{"a":[]}}';
  proxy.fromServer(Buffer.from(result(`{"name":"gone"},${kept}`, 'public')));
  assert.equal(proxy.client.text, result(kept, 'private'));
});

test('a list of an older protocol gets no hint, and a page may be empty', async () => {
  const proxy = proxiedSession({ policy: { mcp: { tools: { allow: ['none'] } } } });
  await proxy.open();
  const frame = list(proxy, 1, { tools: asTools(all), nextCursor: 'n' });
  assert.deepEqual(frame?.result, { tools: [], nextCursor: 'n' });
});

test('a list that comes before the policy is read waits for it', async () => {
  const proxy = proxiedSession({ policy: { mcp: { tools: { deny: ['delete_doc'] } } } });
  assert.equal(list(proxy, 12), undefined);
  await turn();
  assert.deepEqual(toolNames(proxy.client.frames[0]), ['read_doc', 'read_page', 'search']);
});

test('a batch of answers passes without the hidden tools', async () => {
  const proxy = proxiedSession({ policy: { mcp: { tools: { deny: ['delete_doc'] } } } });
  await proxy.open();
  proxy.fromClient({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  proxy.fromClient({ jsonrpc: '2.0', id: 2, method: 'prompts/list' });
  const other = { jsonrpc: '2.0', id: 2, result: { tools: asTools(['delete_doc']) } };
  proxy.fromServer([other, { jsonrpc: '2.0', id: 1, result: { tools: asTools(all) } }]);
  const [first, second] = proxy.client.frames[0] as unknown as readonly Frame[];
  assert.deepEqual(first, other);
  assert.deepEqual(toolNames(second), ['read_doc', 'read_page', 'search']);
});

test('a long list is read as a whole, and one that is too long does not pass', async () => {
  for (const [bytes, idFirst, tools] of [
    [readBytesMax * 2, true, ['read_doc']],
    [readBytesMax * 2, false, ['read_doc']],
    [listBytesMax * 2, true, undefined],
    [listBytesMax * 2, false, undefined],
  ] as const) {
    const proxy = proxiedSession({ policy: { mcp: { tools: { deny: ['delete_doc'] } } } });
    await proxy.open();
    proxy.fromClient({ jsonrpc: '2.0', id: 7, method: 'tools/list' });
    const result = { tools: [{ name: 'read_doc', description: 'x'.repeat(bytes) }, { name: 'delete_doc' }] };
    const line = Buffer.from(`${JSON.stringify(idFirst ? { id: 7, result } : { result, id: 7 })}\n`);
    for (let at = 0; at < line.length; at += 65_536) proxy.fromServer(line.subarray(at, at + 65_536));
    assert.deepEqual(toolNames(proxy.got(7)), tools);
    if (tools === undefined) {
      assert.deepEqual(proxy.got(7)?.error, { code: 7502, message: 'the list of tools is too long to be checked' });
      assert.equal(proxy.client.text.includes('delete_doc'), false);
    }
    proxy.fromServer({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    assert.equal(proxy.client.frames.length, 2, 'the next line passes');
  }
});

test('without a limit a list of any length passes', async () => {
  const proxy = proxiedSession();
  await proxy.open();
  const tools = [{ name: 'read_doc', description: 'x'.repeat(listBytesMax * 2) }];
  assert.deepEqual(toolNames(list(proxy, 7, { tools })), ['read_doc']);
});

const handshake = (proxy: Proxy, listChanged: boolean) => {
  proxy.fromClient({ jsonrpc: '2.0', id: 'i', method: 'initialize', params: {} });
  proxy.fromServer({ jsonrpc: '2.0', id: 'i', result: { capabilities: { tools: { listChanged } } } });
};

async function trip(proxy: Proxy, tool: string) {
  for (let n = 0; n < 5; n++) {
    proxy.fail(proxy.call(tool, { n: `${n * 7919}` }).id, `error ${n * 104729}`);
    await undefined;
  }
}

for (const isDeclared of [true, false]) {
  test(`open tools are hidden until a probe may pass; ${isDeclared ? '' : 'not '}announced`, async () => {
    const proxy = proxiedSession({ policy: { mcp: { hideOpenTools: true } } });
    handshake(proxy, isDeclared);
    await proxy.open();
    const changes = () =>
      proxy.client.frames.filter(({ method }) => method === 'notifications/tools/list_changed').length;
    assert.deepEqual(toolNames(list(proxy, 'a')), all);
    await trip(proxy, 'read_doc');
    assert.equal(changes(), isDeclared ? 1 : 0);
    assert.deepEqual(toolNames(list(proxy, 'b')), all.slice(1));
    proxy.clock.advance(60_000);
    assert.equal(changes(), isDeclared ? 2 : 0, 'announced again when a probe may pass');
    assert.deepEqual(toolNames(list(proxy, 'c')), all);
    assert.equal(proxy.call('read_doc', { n: 'probe' }).isPassed, true);
  });
}

test('without the setting open tools stay in the list', async () => {
  const proxy = proxiedSession();
  handshake(proxy, true);
  await proxy.open();
  await trip(proxy, 'read_doc');
  assert.deepEqual(toolNames(list(proxy, 'b')), all);
  assert.equal(proxy.client.text.includes('list_changed"'), false);
});

for (const [says, annotations, ran] of [
  ['only reads', { readOnlyHint: true }, 11],
  ['may change something', { readOnlyHint: false }, 30],
  ['says nothing', undefined, 30],
  ['says it in a text', { readOnlyHint: 'true' }, 30],
] as const) {
  test(`two calls in turn with old results are ${ran === 11 ? 'a loop' : 'no loop'} if it ${says}`, async () => {
    const proxy = proxiedSession({ policy: { task: { maxToolCalls: 100 } } });
    await proxy.open();
    list(proxy, 'list', { tools: [{ name: 'look', inputSchema: {}, ...(annotations && { annotations }) }] });
    let passed = 0;
    for (let n = 0; n < 30; n++) {
      const page = n % 2 === 0 ? 'north' : 'south';
      const { id, isPassed } = proxy.call('look', { page });
      if (isPassed) proxy.answer(id, { content: [{ type: 'text', text: `${page} is as it was` }] });
      if (isPassed) passed++;
      await turn();
    }
    assert.equal(passed, ran);
    const halts = proxy.gear.journal().flatMap((entry) => (entry.type === 'task-halted' ? [entry.stop.code] : []));
    assert.deepEqual(halts, ran === 11 ? ['tool_loop'] : []);
  });
}

test('a call of a changing tool with a new input makes the answers of reading tools new', async () => {
  const proxy = proxiedSession({ policy: { task: { maxToolCalls: 100 } } });
  await proxy.open();
  const look = { name: 'look', inputSchema: {}, annotations: { readOnlyHint: true } };
  list(proxy, 'list', { tools: [look, { name: 'write', inputSchema: {} }] });
  for (let n = 0; n < 15; n++) {
    const calls = [proxy.call('write', { line: n }), proxy.call('look', { page: 'north' })];
    for (const { id, isPassed } of calls) {
      assert.ok(isPassed, `round ${n}`);
      proxy.answer(id, { content: [{ type: 'text', text: 'fine' }] });
    }
    await turn();
  }
});
