/** Responses that a client may read in another way than the proxy do not get past it. */

import assert from 'node:assert/strict';
import { test as plainTest } from 'node:test';
import { gzipSync } from 'node:zlib';
import { EventSplitter } from '../../../src/http/event-stream.ts';
import { startHttpServer } from './http-setup.ts';
import { post, startRelay } from './listener-setup.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 30_000 }, run);
const list = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'read' }, { name: 'drop_table' }] } });
const events = 'text/event-stream';

for (const [title, type, body, status = 200, headers = {}] of [
  ['JSON', 'application/json', list],
  ['JSON after a byte order mark', 'application/json', `\ufeff${list}`],
  ['compressed JSON', 'application/json', gzipSync(list), 200, { 'content-encoding': 'gzip' }],
  ['events', events, `data: ${list}\n\n`],
  ['events with lines that end with CR', events, `id: 1\rdata: ${list}\r\r`],
  ['events with mixed ends of lines', events, `id: 1\rdata: ${list}\r\n\n`],
  ['events after a byte order mark', events, `\ufeffdata: ${list}\n\n`],
  ['events with another status', events, `data: ${list}\n\n`, 201],
  ['events of a type with more words', 'x/y; text/event-stream', `data: ${list}\n\n`],
  ['JSON of a type with two meanings', 'application/json; text/event-stream', list],
  ['an event that is too long to be held', events, `data: {${' '.repeat(33_600_000)}${list.slice(1)}\n\n`],
] as const) {
  test(`a tool that the policy denies is hidden in ${title}`, async () => {
    const server = await startHttpServer(({ response }) => {
      response.writeHead(status, { 'content-type': type, ...headers });
      response.end(body);
    });
    const { url } = await startRelay(server.url, {}, { mcp: { tools: { deny: { docs: ['drop_table'] } } } });
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const text = await post(url, message, { 'mcp-session-id': 's' }).then(
      (got) => Buffer.from(got.text).toString('utf8'),
      String,
    );
    assert.notEqual(text, '');
    assert.doesNotMatch(text, /drop_table/);
    assert.doesNotMatch(text, /\ufffd/, 'nothing that is not read');
  });
}

plainTest('events are split at every end of a line, wherever the bytes are cut', () => {
  const text = 'data: 1\r\n\r\ndata: 2\r\rid: 3\rdata: 3\n\ndata: 4\n\r\n: end\r\n\r';
  for (let size = 1; size <= text.length; size++) {
    const splitter = new EventSplitter();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...splitter.push(Buffer.from(text.slice(at, at + size))));
    const raw = Buffer.concat([...found.map((event) => event.raw), splitter.takeHeld()]).toString();
    assert.equal(raw, text, `pieces of ${size}`);
    const data = found.flatMap((event) => event.data.map(String));
    assert.deepEqual(data, ['1', '2', '3', '4'], `pieces of ${size}`);
  }
});
