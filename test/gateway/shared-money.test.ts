import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, messageOf, openGateway, sendJson, streamHead, streamTail, streamText } from './harness.ts';

const opus = 'claude-opus-4-1-20250805';

for (const isStream of [false, true]) {
  test(`four calls for 64,000 tokens run within $5: ${isStream ? 'stream' : 'JSON'}`, async (context) => {
    let open = 0;
    let most = 0;
    const { post, received, task } = await openGateway(context, {
      limits: { maxSpendCents: 500 },
      async answer(_, response) {
        most = Math.max(most, ++open);
        await sleep(50);
        open--;
        if (!isStream) return sendJson(response, { ...messageOf('hi', 100, 500), model: opus });
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        return response.end(streamHead(100) + streamText('word '.repeat(400)) + streamTail(500));
      },
    });
    const body = { ...ask, model: opus, max_tokens: 64_000, stream: isStream };
    const answers = await Promise.all([1, 2, 3, 4].map(() => post('/task/a/v1/messages', body)));
    for (const each of answers) assert.equal(each.status, 200);
    for (const each of answers) assert.match(await each.text(), isStream ? /message_stop/ : /end_turn/);
    assert.equal(most, 4, 'no call waits for another one');
    const { halt, cells } = task('gw-a');
    assert.equal(halt, undefined);
    assert.equal(cells.budget.state.reservedMicros, 0);
    const limits = received.map((each) => (JSON.parse(each.body) as typeof body).max_tokens);
    // A token of this model costs 75 millionths of a dollar.
    const longest = limits.reduce((sum, each) => sum + each * 75, 0);
    if (isStream) assert.deepEqual(limits, [64_000, 64_000, 64_000, 64_000]);
    else assert.ok(longest <= 5_000_000 && limits.every((each) => each >= 4_000), `${limits}`);
  });
}

test('whole answers that find the money reserved wait for it, and end no task that has money', async (context) => {
  let open = 0;
  let most = 0;
  const { post, task } = await openGateway(context, {
    limits: { maxSpendCents: 12 },
    async answer(_, response) {
      most = Math.max(most, ++open);
      await sleep(20);
      open--;
      sendJson(response, messageOf('hi', 100, 100));
    },
  });
  // Each call costs less than a fifth of a cent, and asks for 96 cents.
  const calls = Array.from({ length: 20 }, () => post('/task/a/v1/messages', { ...ask, max_tokens: 64_000 }));
  for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
  assert.ok(most > 1 && most < 20, `${most} calls ran at once`);
  assert.equal(task('gw-a').halt, undefined);
  assert.equal(task('gw-a').cells.budget.state.micros, 20 * 1_800);
});

test('a stream waits for money that a whole answer reserved; a call that never fits ends the task', async (context) => {
  const whole = Promise.withResolvers<void>();
  const { post, task, received } = await openGateway(context, {
    limits: { maxSpendCents: 8 },
    async answer({ body }, response) {
      if (!body.includes('"stream":true')) {
        await whole.promise;
        return sendJson(response, messageOf('hi', 100, 100));
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(streamHead(100));
      for (let at = 0; at < 30; at++) response.write(streamText('word '.repeat(80)));
      return response.end(streamTail(3_000));
    },
  });
  const first = post('/task/a/v1/messages', { ...ask, max_tokens: 64_000 });
  while (received.length < 1) await sleep(1);
  const stream = await post('/task/a/v1/messages', { ...ask, max_tokens: 64_000, stream: true });
  const reader = stream.body!.getReader();
  assert.match(Buffer.from((await reader.read()).value!).toString(), /message_start/);
  await sleep(30);
  assert.equal(task('gw-a').halt, undefined);
  whole.resolve();
  assert.equal((await first).status, 200);
  let text = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += Buffer.from(part.value);
  assert.match(text, /message_stop/);
  assert.doesNotMatch(text, /Switchgear/);
  assert.equal(task('gw-a').cells.budget.state.micros, 300 + 1_500 + 300 + 45_000);
  const large = { ...ask, system: 'a word, '.repeat(8_000) };
  assert.equal((await post('/task/a/v1/messages', large)).status, 402);
  assert.equal(task('gw-a').halt?.code, 'token_spend_limit');
});

test('a call that waits for money forgets it when its client leaves', async (context) => {
  const whole = Promise.withResolvers<void>();
  const { url, post, received } = await openGateway(context, {
    limits: { maxSpendCents: 3 },
    async answer(_, response) {
      await whole.promise;
      sendJson(response, messageOf('hi', 100, 100));
    },
  });
  const first = post('/task/a/v1/messages', { ...ask, max_tokens: 64_000 });
  while (received.length < 1) await sleep(1);
  const closing = new AbortController();
  const sent = { method: 'POST', body: JSON.stringify(ask), signal: closing.signal };
  const second = fetch(`${url}/task/a/v1/messages`, sent).catch(() => 'gone');
  await sleep(30);
  closing.abort();
  assert.equal(await second, 'gone');
  await sleep(100); // Until the gateway has seen it.
  whole.resolve();
  assert.equal((await first).status, 200);
  const last = await post('/task/a/v1/messages', ask);
  assert.equal(last.status, 200, await last.text());
  assert.equal(received.length, 2);
});
