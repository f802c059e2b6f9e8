/**
 * Random and hostile requests to the listener: nothing crashes, no answer goes to another request, and what is no call
 * reaches the server byte for byte. The whole form sends 100,000 requests.
 */

import assert from 'node:assert/strict';
import { Agent, request as sendRequest } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { isWhole } from '../../attacks/held/attempts.ts';
import { startHttpServer } from './http-setup.ts';
import { accept, post, startBridge, startRelay } from './listener-setup.ts';

/** A small generator of numbers from a seed. */
function createPick(seed: number) {
  let state = seed >>> 0;
  return <T>(from: readonly T[]): T => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return from[Math.floor((state / 2 ** 32) * from.length)]!;
  };
}

const bodies = [
  '{"jsonrpc":"2.0","id":@,"method":"ping"}',
  '{"jsonrpc":"2.0","id":@,"method":"tools/call","params":{"name":"t","arguments":{"n":@}}}',
  '{"jsonrpc":"2.0","id":@,"method":"tools/call","params":null}',
  '{"jsonrpc":"2.0","id":@,"method":"a","method":"tools/call","params":{"name":7}}',
  '[{"jsonrpc":"2.0","id":@,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7,null]',
  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":@,"reason":"timed out"}}',
  '{"jsonrpc":"2.0","id":@,"result":{"isError":true}}',
  '{"jsonrpc":"2.0","id":{},"method":"ping"}',
  '[]',
  'null',
  '{"jsonrpc"',
  '\u0000\uffff',
  `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
  `{"jsonrpc":"2.0","id":@,"method":"x","params":{"text":"${'ü'.repeat(40_000)}"}}`,
];
const answers = [
  '{"jsonrpc":"2.0","id":@,"result":{"content":[],"n":@}}',
  '{"jsonrpc":"2.0","id":@,"error":{"code":-32603,"message":null}}',
  '{"jsonrpc":"2.0","id":"other","result":{}}',
  '{"jsonrpc"',
  '',
  '[[[[',
];

test('hostile requests and answers: no crash, no answer for another request', { timeout: 600_000 }, async () => {
  const count = isWhole ? 100_000 : 600;
  const pick = createPick(7);
  const server = await startHttpServer(({ body, response }) => {
    const id = /"id":(\d+)/.exec(body)?.[1] ?? '0';
    const text = pick(answers).replaceAll('@', id);
    const type = pick(['application/json', 'text/event-stream', 'text/html']);
    const status = pick([200, 200, 200, 202, 400, 404, 500]);
    server.seen.length = 0;
    if (pick([1, 2, 3, 4, 5, 6, 7, 8, 9]) === 1) response.destroy();
    else {
      response.writeHead(status, { 'content-type': type });
      response.end(type === 'text/event-stream' ? pick([`data: ${text}\n\n`, `id: 1\ndata: ${text}`, ':\n']) : text);
    }
  });
  const { url } = await startRelay(server.url);
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const send = (body: string, session: string) =>
    new Promise<string>((resolve) => {
      const headers = { 'content-type': 'application/json', accept, 'mcp-session-id': session };
      const request = sendRequest(url, { method: 'POST', agent, headers, timeout: 20_000 }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('error', () => resolve(text)).on('close', () => resolve(text));
      });
      request.on('error', () => resolve(''));
      request.end(body);
    });
  let next = 0;
  const work = async () => {
    while (next < count) {
      const id = ++next;
      const text = await send(pick(bodies).replaceAll('@', String(id)), `s${id % 7}`);
      for (const [, other] of text.matchAll(/"id":(\d+)/g)) assert.ok(other === String(id) || other === '0', text);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  agent.destroy();
  const { status } = await post(url.replace('/mcp', '/mcp?still'), { jsonrpc: '2.0', id: 1, method: 'ping' });
  assert.ok(status > 0);
});

/** A stdio server that writes a hostile line before each answer, in pieces. */
const hostileServer = `
const junk = ['{"jsonrpc"', '', '[[[[', 'null', '\\u0000\\uffff', '[]', '[7,null]',
  '{"jsonrpc":"2.0","id":"other","result":{}}', '{"jsonrpc":"2.0","id":99999999,"result":{}}',
  '{"jsonrpc":"2.0","method":"notifications/message","params":{}}', '['.repeat(3000) + ']'.repeat(3000),
  '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null}}',
  '{"jsonrpc":"2.0","method":"x","params":"' + '\u00fc'.repeat(40000) + '"}'];
let rest = '', n = 0;
process.stdin.on('data', (chunk) => {
  rest += chunk.toString('latin1');
  for (let end = rest.indexOf('\\n'); end !== -1; end = rest.indexOf('\\n')) {
    const line = rest.slice(0, end);
    rest = rest.slice(end + 1);
    const text = junk[n++ % junk.length] + '\\n';
    process.stdout.write(text.slice(0, text.length >> 1));
    process.stdout.write(text.slice(text.length >> 1));
    let m;
    try { m = JSON.parse(line); } catch { continue; }
    for (const each of Array.isArray(m) ? m : [m]) {
      if (each?.id === undefined || each.method === undefined) continue;
      const serverInfo = { name: 's', version: '1' };
      const handshake = { protocolVersion: '2025-03-26', capabilities: {}, serverInfo };
      const result = each.method === 'initialize' ? handshake : { content: [] };
      process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: each.id, result }) + '\\n');
    }
  }
});`;

test('hostile requests to a stdio server and hostile lines of it: each request gets its own answer', {
  timeout: 600_000,
}, async () => {
  const count = isWhole ? 100_000 : 300;
  const pick = createPick(11);
  const { url } = await startBridge([process.execPath, '-e', hostileServer]);
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const { headers } = await post(url, { jsonrpc: '2.0', id: 'first', method: 'initialize', params });
  const session = { 'mcp-session-id': String(headers['mcp-session-id']) };
  const statuses = new Map<number, number>();
  let next = 0;
  const work = async () => {
    while (next < count) {
      const id = ++next;
      const { status, text } = await post(url, pick(bodies).replaceAll('@', String(id)), session);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const ids = [...text.matchAll(/"id":(\d+),"(?:result|error)"/g)].map(([, other]) => other);
      for (const other of ids) assert.equal(other, String(id), text.slice(0, 200));
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  assert.deepEqual([...statuses.keys()].toSorted(), [200, 202, 400]);
  const last = await post(url, { jsonrpc: '2.0', id: 'last', method: 'ping' }, session);
  assert.deepEqual(last.frame.result, { content: [] });
});

test('requests that are no HTTP, or end in the middle, leave the listener running', { timeout: 60_000 }, async () => {
  const server = await startHttpServer((exchange) => exchange.result({ fine: true }));
  const { url } = await startRelay(server.url);
  const { port, host } = new URL(url);
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`;
  const starts = [
    'garbage\r\n\r\n',
    `${head}Content-Length: 5\r\n\r\n{`,
    `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}`,
    `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `${head}X-Long: ${'x'.repeat(70_000)}\r\n\r\n`,
    `GET /mcp HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\n\r\n`,
    `GET http://evil.example/mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
  ];
  for (const start of starts) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(start, () => socket.end()));
      socket.on('error', () => resolve()).on('close', () => resolve());
      socket.resume();
    });
  }
  assert.equal(server.seen.length, 0);
  assert.deepEqual((await post(url, { jsonrpc: '2.0', id: 1, method: 'ping' })).frame.result, { fine: true });
});
