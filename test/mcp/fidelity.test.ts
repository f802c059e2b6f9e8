/** What relays lose that parse messages and write them anew: the proxy passes each of these byte for byte. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxiedSession, turn } from './proxied-session.ts';

type Side = 'client' | 'server';

/** A message of one side, in the bytes in which it is sent. */
type Sent = readonly [from: Side, line: string];

const hello =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}';
const ready = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const call = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look","arguments":{}}}';

const result = (members: string, id = 2) => `{"id":${id}, "jsonrpc":"2.0","result":{"content":[],${members}}}`;

/** The messages of each case; other messages that a session needs stand before them. */
const cases: Readonly<Record<string, readonly Sent[]>> = {
  'the name and the instructions of the server': [
    ['client', hello],
    [
      'server',
      '{"result":{"serverInfo":{"name":"Ünï","icons":[]},"instructions":"be \\u006bind"},"id":0,"jsonrpc":"2.0"}',
    ],
  ],
  'an unknown capability': [
    ['client', hello.replace('"capabilities":{}', '"capabilities":{"x/telepathy":{"range":1e3}}')],
    ['server', '{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"x/telepathy":{"on":true},"tools":{}}}}'],
  ],
  'a field of a vendor on a tool': [
    ['client', list],
    [
      'server',
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look","x-vendor":{"tier":"gold"},"inputSchema":{}}]}}',
    ],
  ],
  'structured content': [
    ['client', call],
    ['server', result('"structuredContent":{"b":1,"a":{"deep":[null,1.0,1e2]}}')],
  ],
  'the _meta of a result': [
    ['client', call],
    ['server', result('"_meta":{"example.com/cost":0.10}')],
  ],
  'the _meta of a list': [
    ['client', list],
    ['server', '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"etag":"W/\\"1\\""},"tools":[],"nextCursor":"x"}}'],
  ],
  'the _meta of a request': [
    ['client', call.replace('"params":{', '"params":{"_meta":{"traceparent":"00-aa-bb-01","x":{"y":[1, 2]}},')],
    ['server', result('"isError":false')],
  ],
  'an unknown field of a result': [
    ['client', call],
    ['server', result('"billing":{"units":3},"isError":false')],
  ],
  'the resultType of a result': [
    ['client', call],
    ['server', result('"resultType":"complete"')],
  ],
  'an unknown parameter of a request': [
    [
      'client',
      call.replace('"arguments":{}', '"arguments":{},"inputResponses":{"q":{"action":"accept"}},"requestState":"s"'),
    ],
    ['server', result('"isError":false')],
  ],
  'an integer above 2^53': [
    ['client', call.replace('"arguments":{}', '"arguments":{"n":12345678901234567890,"f":0.1000}')],
    ['server', result('"structuredContent":{"n":98765432109876543210,"e":1E+2}')],
  ],
  progress: [
    ['client', call.replace('"params":{', '"params":{"_meta":{"progressToken":"p-1"},')],
    ['server', '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p-1","progress":0.50}}'],
    ['server', result('"isError":false')],
  ],
  'a method of their own': [
    ['client', '{"jsonrpc":"2.0","id":"c-1","method":"x/dance","params":[1,{"style":"tango"}]}'],
    ['server', '{"jsonrpc":"2.0","id":"c-1","result":"danced"}'],
    ['server', '{"jsonrpc":"2.0","method":"x/notifications/applause"}'],
  ],
  'the data of an error of the server': [
    ['client', call],
    [
      'server',
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32050,"message":"no","data":{"retry":[1,2],"big":9007199254740993}}}',
    ],
  ],
  'a changed list': [['server', '{"jsonrpc":"2.0","method":"notifications/tools/list_changed", "params":{}}']],
  'a question of the server to the client': [
    [
      'server',
      '{"jsonrpc":"2.0","id":"s-1","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}',
    ],
    ['client', '{"jsonrpc":"2.0","id":"s-1","result":{"action":"accept","content":{"a":1.0}}}'],
  ],
  'a cancelled request': [
    ['client', call],
    ['client', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"the user"}}'],
  ],
};

async function openSession(options = {}) {
  const proxy = proxiedSession(options);
  await proxy.open();
  let toServer = proxy.server.text;
  let toClient = proxy.client.text;
  return {
    proxy,
    /** Sends a line; returns what came out at the other end, and what went back. */
    async send(from: Side, line: string) {
      if (from === 'client') proxy.fromClient(Buffer.from(`${line}\n`));
      else proxy.fromServer(Buffer.from(`${line}\n`));
      await turn();
      const passed =
        from === 'client' ? proxy.server.text.slice(toServer.length) : proxy.client.text.slice(toClient.length);
      const back =
        from === 'client' ? proxy.client.text.slice(toClient.length) : proxy.server.text.slice(toServer.length);
      toServer = proxy.server.text;
      toClient = proxy.client.text;
      return { passed, back };
    },
  };
}

for (const [title, messages] of Object.entries(cases)) {
  test(`${title} passes byte for byte`, async () => {
    const { proxy, send } = await openSession();
    for (const [from, line] of messages) {
      assert.deepEqual(await send(from, line), { passed: `${line}\n`, back: '' });
    }
    proxy.gear.dispose();
  });
}

test('a call that asks for input or becomes a task counts neither as a failure nor as a success', async () => {
  const { proxy, send } = await openSession();
  const open = [
    '"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}},"requestState":"s"',
    '"resultType":"task","task":{"taskId":"t-1","status":"working"}',
    '"task":{"taskId":"t-2","status":"failed"},"isError":true',
  ];
  let id = 10;
  const answer = async (members: string) => {
    const line = call.replace('"id":2', `"id":${++id}`).replace('"arguments":{}', `"arguments":{"n":${id}}`);
    const { passed } = await send('client', line);
    if (passed !== '') assert.equal((await send('server', result(members, id))).passed, `${result(members, id)}\n`);
    return passed !== '';
  };
  for (let at = 0; at < 4; at++) assert.ok(await answer('"isError":true'));
  // Neither a success, which would end the row of failures, nor the fifth failure.
  for (const members of open) assert.ok(await answer(members));
  assert.ok(await answer('"isError":true'));
  assert.equal(await answer('"isError":false'), false, 'the fifth failure has opened the breaker');
  proxy.gear.dispose();
});

test('both eras at once: messages of each pass, and each gets a refusal in its own form', async () => {
  const { proxy, send } = await openSession({ policy: { circuitBreaker: { failureThreshold: 1 } } });
  const modern = (line: string) =>
    line.replace('"params":{', '"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},');
  // A client of both eras probes the newer one first; an older server refuses, and the client begins anew.
  const probe = modern('{"jsonrpc":"2.0","id":"probe-1","method":"server/discover","params":{}}').replace(',}', '}');
  const messages: readonly Sent[] = [
    ['client', probe],
    ['server', '{"jsonrpc":"2.0","id":"probe-1","error":{"code":-32601,"message":"unknown method"}}'],
    ['client', hello],
    ['server', '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'],
    ['client', ready],
    ['client', call],
    ['client', modern(call).replace('"id":2', '"id":"two"')],
    ['server', '{"jsonrpc":"2.0","id":"two","result":{"resultType":"complete","content":[]}}'],
    ['server', result('"isError":true')],
  ];
  for (const [from, line] of messages) assert.equal((await send(from, line)).passed, `${line}\n`, line);
  const older = await send('client', call.replace('"id":2', '"id":3'));
  const newer = await send('client', modern(call).replace('"id":2', '"id":4'));
  assert.deepEqual([older.passed, newer.passed], ['', '']);
  assert.equal(JSON.parse(older.back).result.resultType, undefined);
  assert.equal(JSON.parse(newer.back).result.resultType, 'complete');
  proxy.gear.dispose();
});
