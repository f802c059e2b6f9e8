/** Hints for the model behind the newest result, put back at the same place whenever the history comes again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createSwitchgear } from '../../../src/guard/create-switchgear.ts';
import { observe, runtimeOf } from '../../../src/guard/internal.ts';
import { messageOf, openGateway, sendJson } from '../harness.ts';
import { apis, failCalls, readFiles, repeatCall, type Turn } from '../history.ts';

const setup = {
  answer: (_: unknown, response: Parameters<typeof sendJson>[0]) => sendJson(response, messageOf('', 1, 1)),
};

/** The piece that was added to a text, which is otherwise the same. */
function findAdded(sent: string, arrived: string): string {
  let start = 0;
  while (start < sent.length && sent[start] === arrived[start]) start++;
  const added = arrived.slice(start, arrived.length - (sent.length - start));
  assert.equal(arrived.slice(0, start) + arrived.slice(start + added.length), sent);
  return added;
}

const names = Object.keys(apis) as (keyof typeof apis)[];

for (const name of names) {
  const { path, body } = apis[name];

  test(`a hint stands behind the newest result and stays there: ${name}`, async (context) => {
    const { post, received } = await openGateway(context, setup);
    let hint = '';
    let hintedAt = 0;
    let place = 0;
    const turns: Turn[] = [...readFiles(2)];
    for (const turn of repeatCall(20)) {
      turns.push({ ...turn, id: `again_${turn.id}` });
      const sent = JSON.stringify(body('fix "it"', turns));
      const { status } = await post(`/task/t${path}`, sent);
      if (status !== 200) break;
      const arrived = received.at(-1)!.body;
      JSON.parse(arrived);
      if (hint === '') {
        hint = findAdded(sent, arrived);
        place = arrived.indexOf(hint);
        hintedAt = turns.length;
        continue;
      }
      // All that the provider has read before begins with the same bytes.
      assert.equal(arrived.indexOf(hint), place);
      assert.equal(arrived.replace(hint, ''), sent);
    }
    assert.match(hint, /\[switchgear\] .*read_file/);
    // The same conversation, sent again from an earlier point and in parallel, has the hint where it was.
    const count = received.length;
    const early = JSON.stringify(body('fix "it"', turns.slice(0, hintedAt)));
    await Promise.all([1, 2].map(() => post(`/task/u${path}`, early)));
    for (const { body: arrived } of received.slice(count)) findAdded(early, arrived);
  });

  test(`a tool whose breaker opens is named to the model: ${name}`, async (context) => {
    const { post, received } = await openGateway(context, setup);
    const turns = failCalls(5).map((turn) => ({ ...turn, output: `Error: ${turn.output}` }));
    for (let count = 1; count <= 5; count++) await post(`/task/t${path}`, body('find it', turns.slice(0, count)));
    const sent = JSON.stringify(body('find it', turns));
    assert.match(findAdded(sent, received.at(-1)!.body), /'mcp__issues__find' failed 5 times in a row/);
  });
}

test('the forms of the hints are those of the APIs', async (context) => {
  const last = async (name: keyof typeof apis) => {
    const { post, received } = await openGateway(context, setup);
    const { path, body } = apis[name];
    for (let count = 1; count <= 20 && !received.at(-1)?.body.includes('[switchgear]'); count++)
      await post(`/task/t${path}`, body('fix it', repeatCall(count)));
    return JSON.parse(received.at(-1)!.body) as Record<string, unknown[]>;
  };
  const hint = /^\[switchgear\] /;
  const message = (await last('anthropic')).messages!.at(-1) as { role: string; content: Record<string, string>[] };
  assert.deepEqual(
    message.content.map(({ type }) => type),
    ['tool_result', 'text'],
  );
  assert.match(message.content[1]!.text!, hint);
  const result = (await last('chat')).messages!.at(-1) as { role: string; content: string };
  assert.equal(result.role, 'tool');
  assert.match(result.content, /^no such "file"\n\n\[switchgear\] /);
  const item = (await last('responses')).input!.at(-1) as { role: string; content: { text: string }[] };
  assert.equal(item.role, 'user');
  assert.match(item.content[0]!.text, hint);
  const { parts } = (await last('gemini')).contents!.at(-1) as { parts: { text: string }[] };
  assert.match(parts.at(-1)!.text, hint);
});

test('a body keeps its bytes around a hint: blanks, escapes, half letters, double members', async (context) => {
  const { post, url, received } = await openGateway(context, setup);
  const { path, body } = apis.anthropic;
  const awkward = (count: number) => {
    const text = JSON.stringify(body('fïx \u{1F6A6} \ud800 it', repeatCall(count)), undefined, 3);
    return `\n ${text.replace('"model"', '"messages" : [ ], "x\\u0041" :\t1.0e2, "model"')} `;
  };
  for (let count = 1; count <= 20 && !received.at(-1)?.body.includes('[switchgear]'); count++) {
    await post(`/task/t${path}`, awkward(count));
    findAdded(awkward(count), received.at(-1)!.body);
  }
  assert.ok(received.at(-1)!.body.includes('[switchgear]'));
  const compressed = await fetch(`${url}/task/t${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync(awkward(received.length)),
  });
  assert.equal(compressed.status, 200);
  assert.equal(received.at(-1)!.body, received.at(-2)!.body);
  assert.equal(received.at(-1)!.headers['content-encoding'], undefined);
});

test('no hint is written where hints are off, or where the gear only observes', async (context) => {
  for (const gear of [{ policy: { gateway: { hints: false } } }, { mode: 'observe' as const }]) {
    const { post, received } = await openGateway(context, { ...setup, gear });
    const { path, body } = apis.anthropic;
    for (let count = 1; count <= 20; count++) {
      const sent = JSON.stringify(body('fix it', repeatCall(count)));
      const { status } = await post(`/task/t${path}`, sent);
      if (status === 200) assert.equal(received.at(-1)!.body, sent);
    }
    assert.ok(received.length >= 5);
  }
});

test('the model gets a hint at the call at which the library gives it', async (context) => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const runtime = runtimeOf(gear);
  const task = gear.startTask();
  const node = runtime.tasks.get(task.id)!;
  const { post, received } = await openGateway(context, setup);
  const { path, body } = apis.anthropic;
  const ends = { library: '', gateway: '' };
  observe(runtime, node, { type: 'user', text: 'fix it' });
  for (const [at, { id, name, input, output }] of repeatCall(20).entries()) {
    observe(runtime, node, { type: 'assistant', text: '', toolUse: true });
    observe(runtime, node, { type: 'tool_use', id, name, input });
    observe(runtime, node, { type: 'tool_result', id, ok: true, output });
    if (task.hint() !== undefined) ends.library += `hint ${at} `;
    if (task.halt !== undefined) {
      ends.library += `halt ${at}`;
      break;
    }
  }
  for (let count = 1; count <= 20; count++) {
    const { status } = await post(`/task/t${path}`, body('fix it', repeatCall(count)));
    if (status !== 200) {
      ends.gateway += `halt ${count - 1}`;
      break;
    }
    if (received.at(-1)!.body.includes('[switchgear]') && ends.gateway === '') ends.gateway += `hint ${count - 1} `;
  }
  gear.dispose();
  assert.equal(ends.gateway, ends.library);
});
