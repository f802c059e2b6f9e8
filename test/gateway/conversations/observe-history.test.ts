/** Loops, breakers and rules in the conversations that requests repeat, for every API. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf, openGateway, sendJson } from '../harness.ts';
import { apis, failCalls, readFiles, repeatCall, type Turn } from '../history.ts';

const setup = {
  answer: (_: unknown, response: Parameters<typeof sendJson>[0]) => sendJson(response, messageOf('', 1, 1)),
};

type Gateway = Awaited<ReturnType<typeof openGateway>>;

function watchedIn({ runtime }: Gateway) {
  return [...runtime.tasks.values()].filter(({ id }) => id.startsWith('gw-t~'));
}

const { path, body } = apis.anthropic;

for (const [name, { path, body, status }] of Object.entries(apis)) {
  test(`a conversation that repeats one call is ended, and others of its task go on: ${name}`, async (context) => {
    const { post, received } = await openGateway(context, setup);
    const turns: Turn[] = [];
    let last = 200;
    for (const turn of repeatCall(30)) {
      turns.push(turn);
      last = (await post(`/task/t${path}`, body('fix it', turns))).status;
      if (last !== 200) break;
    }
    assert.equal(last, status);
    assert.ok(turns.length >= 3 && turns.length <= 15, `${turns.length} calls`);
    const passed = received.length;
    for (let at = 0; at < 30; at++) assert.equal((await post(`/task/t${path}`, body('fix it', turns))).status, status);
    assert.equal(received.length, passed);
    assert.equal((await post(`/task/t${path}`, body('do another thing', turns.slice(0, 1)))).status, 200);
  });

  test(`a conversation of a key without a name is watched like any other: ${name}`, async (context) => {
    const { post } = await openGateway(context, setup);
    let count = 1;
    while (count < 30 && (await post(path, body('fix it', repeatCall(count)))).status === 200) count++;
    assert.equal((await post(path, body('fix it', repeatCall(count)))).status, status);
    assert.ok(count >= 3 && count <= 15, `${count} calls`);
  });

  test(`a healthy conversation is counted once, however often its history comes: ${name}`, async (context) => {
    const gateway = await openGateway(context, setup);
    for (let count = 1; count <= 25; count++) {
      const request = body('read all', readFiles(count));
      assert.equal((await gateway.post(`/task/t${path}`, request)).status, 200);
      if (count % 5 === 0) {
        const again = await Promise.all([1, 2, 3].map(() => gateway.post(`/task/t${path}`, request)));
        assert.deepEqual(
          again.map(({ status }) => status),
          [200, 200, 200],
        );
      }
    }
    assert.deepEqual(
      watchedIn(gateway).map(({ cells }) => cells.budget.state.calls),
      [25],
    );
  });

  test(`a history whose beginning is cut off is not counted again: ${name}`, async (context) => {
    const gateway = await openGateway(context, setup);
    for (let count = 1; count <= 10; count++) await gateway.post(`/task/t${path}`, body('read all', readFiles(count)));
    for (let count = 3; count <= 6; count++)
      await gateway.post(`/task/t${path}`, body('read all', readFiles(count, 7)));
    assert.deepEqual(
      watchedIn(gateway).map(({ cells }) => cells.budget.state.calls),
      [13],
    );
  });
}

test('a conversation that was long before it came is judged by the work since its last prompt', async (context) => {
  const { post } = await openGateway(context, setup);
  const { messages, ...rest } = body('fix it', repeatCall(30)) as { messages: object[] };
  const asked = { ...rest, messages: [...messages, { role: 'user', content: 'now do something else' }] };
  assert.equal((await post(`/task/t${path}`, asked)).status, 200);
});

test('a conversation goes on after its beginning was replaced by a summary', async (context) => {
  const gateway = await openGateway(context, setup);
  for (let count = 1; count <= 10; count++) await gateway.post(`/task/t${path}`, body('read all', readFiles(count)));
  for (let count = 3; count <= 6; count++)
    await gateway.post(`/task/t${path}`, body('Summary: seven files were read.', readFiles(count, 7)));
  assert.deepEqual(
    watchedIn(gateway).map(({ cells }) => cells.budget.state.calls),
    [13],
  );
});

for (const [name, { path, body, status }] of Object.entries({ anthropic: apis.anthropic, chat: apis.chat })) {
  test(`reminders of the client between the turns are no prompts, and hide no loop: ${name}`, async (context) => {
    const { post } = await openGateway(context, setup);
    const send = async (count: number) => {
      const { messages, ...rest } = body('fix it', repeatCall(count)) as { readonly messages: readonly object[] };
      // A reminder after every second result.
      const reminded = messages.flatMap((each, at) =>
        at > 0 && at % 4 === 0 ? [each, { role: 'system', content: `Reminder ${at}` }] : [each],
      );
      return (await post(`/task/t${path}`, { ...rest, messages: reminded })).status;
    };
    let count = 1;
    while (count < 30 && (await send(count)) === 200) count++;
    assert.equal(await send(count), status);
    assert.ok(count <= 15, `${count} calls`);
  });
}

test('histories that branch are counted by their calls, the common ones once', async (context) => {
  const gateway = await openGateway(context, setup);
  const common = readFiles(5);
  const branches = [1, 2, 3].map((at) => [...common, { ...readFiles(1, 100 * at)[0]!, output: `branch ${at}` }]);
  await Promise.all(branches.map((turns) => gateway.post(`/task/t${path}`, body('read all', turns))));
  assert.deepEqual(
    watchedIn(gateway).map(({ cells }) => cells.budget.state.calls),
    [8],
  );
});

test('a tool that fails five times in a row opens its breaker, which ends nothing', async (context) => {
  const gateway = await openGateway(context, setup);
  for (let count = 1; count <= 6; count++)
    assert.equal((await gateway.post(`/task/t${path}`, body('find it', failCalls(count)))).status, 200);
  const opened = gateway.runtime.store.tail(0).filter(({ type }) => type === 'breaker-opened');
  assert.equal(opened.length, 1);
  assert.equal(Reflect.get(opened[0]!, 'session'), 'gw-t');
});

test('a rule that aborts ends the conversation that used the tool', async (context) => {
  for (const action of ['abort', 'confirm'] as const) {
    const { post, received } = await openGateway(context, {
      ...setup,
      gear: { policy: { rules: [{ condition: 'ability:deploy', action, reason: 'no-deploys' }] } },
    });
    const turn = { id: 'call_1', name: 'deploy', input: {}, output: 'done' };
    const refused = await post(`/task/t${path}`, body('ship it', [...readFiles(1), turn]));
    assert.equal(refused.status, 402, action);
    assert.match(await refused.text(), /no-deploys/);
    assert.equal(received.length, 0);
    assert.equal((await post(`/task/t${path}`, body('another', readFiles(1)))).status, 200);
  }
});

for (const who of ['its main agent', 'a subagent'])
  test(`a command of Gemini CLI that fails alike is a loop, despite its process ids: ${who}`, async (context) => {
    const { post } = await openGateway(context, setup);
    const contents: object[] = [{ role: 'user', parts: [{ text: 'fix it' }] }];
    let last = 200;
    for (let at = 0; at < 30 && last === 200; at++) {
      const call = { name: 'run_shell_command', args: { command: 'cat missing.txt' } };
      const output = `Output: cat: missing.txt: No such file\nExit Code: 1\nProcess Group PGID: ${16_000 + 17 * at}`;
      contents.push({
        role: 'model',
        parts: [{ functionCall: who === 'a subagent' ? call : { ...call, id: `c${at}` } }],
      });
      const result = { id: `c${at}`, name: call.name, response: { output } };
      contents.push({ role: 'user', parts: [{ functionResponse: result }] });
      const request = { contents, tools: [{ functionDeclarations: [{ name: call.name }] }] };
      last = (await post('/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse', request)).status;
    }
    assert.equal(last, 402);
    assert.ok(contents.length <= 31, `${contents.length} parts`);
  });
