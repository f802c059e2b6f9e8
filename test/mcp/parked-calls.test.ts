/** Calls that wait for a person while their client calls again: asked by a result, or told to call again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Frame, proxiedSession, turn } from './proxied-session.ts';

type Proxy = ReturnType<typeof proxiedSession>;

const policy = { rules: ['ability:*pay*|confirm|"money leaves"'], circuit_breaker: { timeout_secs: 600 } };
const metaOf = (capabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});
const meta = metaOf({ elicitation: { form: {} } });

interface AskedResult {
  readonly resultType: string;
  readonly requestState: string;
  readonly inputRequests: Readonly<Record<string, { readonly method: string; readonly params: { message: string } }>>;
  readonly isError?: boolean;
  readonly content?: readonly { readonly text: string }[];
}

const resultOf = (frame: Frame | undefined) => frame?.result as AskedResult | undefined;
const callsOf = ({ server }: Proxy) => server.frames.filter(({ method }) => method === 'tools/call');

/** Calls a tool about which the client is asked; returns the result that asks. */
async function callAsked(
  proxy: Proxy,
  args: object = { amount: 7, token: 'sk-ant-abcdefghijklmnopqrstuvwxyz0123456789' },
) {
  const { id } = proxy.call('pay', args, { _meta: meta });
  await turn();
  const result = resultOf(proxy.got(id));
  assert.equal(result?.resultType, 'input_required');
  return { id, args, result: result! };
}

/** Calls again with the answer of the person. */
async function retry(proxy: Proxy, asked: Awaited<ReturnType<typeof callAsked>>, response: object, more: object = {}) {
  const [name = ''] = Object.keys(asked.result.inputRequests);
  const { requestState } = asked.result;
  const params = { _meta: meta, inputResponses: { [name]: response }, requestState, ...more };
  const { id } = proxy.call('pay', asked.args, params);
  await turn();
  return id;
}

test('a client of 2026-07-28 is asked by a result, with masked arguments; its next request passes', async () => {
  const proxy = proxiedSession({ policy, asksClient: true });
  await proxy.open();
  const asked = await callAsked(proxy);
  const [request] = Object.values(asked.result.inputRequests);
  assert.equal(request?.method, 'elicitation/create');
  assert.match(request?.params.message ?? '', /money leaves/);
  assert.match(request?.params.message ?? '', /"?amount"?: ?7/);
  assert.doesNotMatch(request?.params.message ?? '', /abcdefghij/);
  assert.deepEqual(callsOf(proxy), []);
  const id = await retry(proxy, asked, { action: 'accept', content: { approve: true } });
  const [call, ...others] = callsOf(proxy);
  assert.deepEqual(others, []);
  assert.equal(call?.id, id);
  assert.deepEqual(call?.params, { name: 'pay', arguments: asked.args, _meta: meta });
  proxy.succeed(id);
  assert.ok(proxy.got(id));
  assert.equal(proxy.gear.breaker('mcp__docs__pay').stats.totalRequests, 1, 'counted once');
});

for (const [title, response] of [
  ['declines', { action: 'decline' }],
  ['accepts without a tick', { action: 'accept', content: { approve: false } }],
] as const) {
  test(`a person who ${title} refuses the call`, async () => {
    const proxy = proxiedSession({ policy, asksClient: true });
    await proxy.open();
    const id = await retry(proxy, await callAsked(proxy), response);
    assert.equal(resultOf(proxy.got(id))?.isError, true);
    assert.equal(resultOf(proxy.got(id))?.resultType, 'complete');
    assert.deepEqual(callsOf(proxy), []);
  });
}

test('a state is for one call with its own arguments, and used once', async () => {
  const proxy = proxiedSession({ policy, asksClient: true });
  await proxy.open();
  const yes = { action: 'accept', content: { approve: true } };
  const asked = await callAsked(proxy);
  const other = await retry(proxy, { ...asked, args: { amount: 70_000 } }, yes);
  assert.equal(resultOf(proxy.got(other))?.resultType, 'input_required', 'other arguments are asked about');
  const forged = await retry(proxy, asked, yes, { requestState: `${asked.result.requestState}x` });
  assert.equal(resultOf(proxy.got(forged))?.resultType, 'input_required');
  assert.deepEqual(callsOf(proxy), []);
  await retry(proxy, asked, yes);
  assert.equal(callsOf(proxy).length, 1);
  const again = await retry(proxy, asked, yes);
  assert.equal(resultOf(proxy.got(again))?.resultType, 'input_required', 'asked again');
  assert.equal(callsOf(proxy).length, 1);
  assert.equal(proxy.server.text.includes('switchgear'), false, 'the server sees nothing of it');
});

test('a client of 2026-07-28 that cannot ask is not asked by a result', async () => {
  const proxy = proxiedSession({ policy, asksClient: true });
  await proxy.open();
  const { id } = proxy.call('pay', {}, { _meta: metaOf({}) });
  await turn();
  assert.equal(resultOf(proxy.got(id))?.resultType, 'complete');
  assert.equal(resultOf(proxy.got(id))?.isError, true);
});

test('a call that is approved in the inbox passes with the next request', async () => {
  const proxy = proxiedSession({ policy, asksClient: true });
  await proxy.open();
  const asked = await callAsked(proxy);
  const [card] = proxy.gear.cards.list();
  proxy.gear.cards.answer(card!.id, 'approve', 'ann');
  await turn();
  assert.deepEqual(callsOf(proxy), [], 'nobody waits for its answer yet');
  const id = await retry(proxy, asked, { action: 'cancel' });
  assert.equal(callsOf(proxy)[0]?.id, id);
});

/** A session whose questions are answered in the inbox alone. */
async function inboxSession() {
  const never = { name: 'inbox', ask: () => new Promise<never>(() => undefined) };
  const proxy = proxiedSession({ policy: { ...policy, approval: { timeout_secs: 300 } }, approver: never });
  await proxy.open();
  return proxy;
}

test('before a client gives up it is told to call again, and the equal call goes on waiting', async () => {
  const proxy = await inboxSession();
  const first = proxy.call('pay', { amount: 7 });
  await turn();
  proxy.clock.advance(49_000);
  assert.equal(proxy.got(first.id), undefined);
  proxy.clock.advance(1_000);
  assert.match(resultOf(proxy.got(first.id))?.content?.[0]?.text ?? '', /has not answered yet\. Call it again/);
  const second = proxy.call('pay', { amount: 7 });
  assert.equal(second.isPassed, false);
  assert.equal(proxy.gear.cards.list().length, 1, 'one question');
  proxy.gear.cards.answer(proxy.gear.cards.list()[0]!.id, 'approve', 'ann');
  await turn();
  assert.deepEqual(
    callsOf(proxy).map(({ id }) => id),
    [second.id],
  );
  proxy.succeed(second.id);
  assert.equal(proxy.gear.breaker('mcp__docs__pay').stats.totalRequests, 1);
});

test('an answer between two requests holds for the next equal one', async () => {
  for (const answer of ['approve', 'decline'] as const) {
    const proxy = await inboxSession();
    proxy.call('pay', { amount: 7 });
    await turn();
    proxy.clock.advance(50_000);
    proxy.gear.cards.answer(proxy.gear.cards.list()[0]!.id, answer, 'ann');
    await turn();
    assert.deepEqual(callsOf(proxy), []);
    const other = proxy.call('pay', { amount: 8 });
    await turn();
    assert.equal(other.isPassed, false, 'other arguments are another question');
    const { id } = proxy.call('pay', { amount: 7 });
    assert.equal(callsOf(proxy).length, answer === 'approve' ? 1 : 0);
    if (answer === 'decline') assert.equal(resultOf(proxy.got(id))?.isError, true);
  }
});

test('an approved call that its client forgot is given back', async () => {
  const proxy = await inboxSession();
  proxy.call('pay', { amount: 7 });
  await turn();
  proxy.clock.advance(50_000);
  proxy.gear.cards.answer(proxy.gear.cards.list()[0]!.id, 'approve', 'ann');
  await turn();
  proxy.clock.advance(120_000);
  assert.equal(proxy.call('pay', { amount: 7 }).isPassed, false, 'asked again');
  assert.equal(proxy.gear.breaker('mcp__docs__pay').stats.totalFailures, 0);
});

test('a call that continues after a question of the server counts once', async () => {
  const proxy = proxiedSession({ policy: { task: { maxToolCalls: 2 } } });
  await proxy.open();
  for (let n = 0; n < 2; n++) {
    const first = proxy.call('book', { n }, { _meta: meta });
    proxy.answer(first.id, { resultType: 'input_required', inputRequests: { q: {} }, requestState: `s${n}` });
    const answered = { _meta: meta, inputResponses: { q: { action: 'accept' } }, requestState: `s${n}` };
    const second = proxy.call('book', { n }, answered);
    assert.equal(second.isPassed, true, `call ${n}`);
    proxy.succeed(second.id);
    await undefined;
  }
  assert.equal(proxy.call('book', { n: 3 }).isPassed, false, 'the third call is one too many');
  const made = proxy.call('book', { n: 4 }, { _meta: meta, requestState: 'made up' });
  assert.equal(made.isPassed, false, 'a state alone is no way around');
});

test('numbers that JavaScript cannot tell apart are other arguments, with their own question', async () => {
  const proxy = await inboxSession();
  const send = (id: number, amount: string) => {
    const params = `{"name":"pay","arguments":{"amount":${amount}}}`;
    proxy.fromClient(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}\n`));
  };
  send(1, '9007199254740992');
  await turn();
  proxy.clock.advance(50_000);
  const [card] = proxy.gear.cards.list();
  proxy.gear.cards.answer(card!.id, 'approve', 'ann');
  await turn();
  send(2, '9007199254740993');
  await turn();
  assert.deepEqual(callsOf(proxy), [], 'nobody has approved this amount');
  send(3, '9007199254740992');
  await turn();
  assert.equal(callsOf(proxy)[0]?.id, 3);
  assert.match(proxy.server.text, /"amount":9007199254740992\}/);
});

test('an approval does not pass other arguments beside those that were approved', async () => {
  const proxy = await inboxSession();
  const send = (id: number, args: string) => {
    const params = `{"name":"pay","arguments":${args}}`;
    proxy.fromClient(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}\n`));
  };
  send(1, '{"amount":1}');
  await turn();
  proxy.clock.advance(50_000);
  const [card] = proxy.gear.cards.list();
  proxy.gear.cards.answer(card!.id, 'approve', 'ann');
  await turn();
  send(2, '{"amount":900,"amount":1}');
  await turn();
  assert.equal(callsOf(proxy)[0]?.id, 2);
  assert.doesNotMatch(proxy.server.text, /900/);
});
