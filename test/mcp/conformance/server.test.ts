/** Each request of the conformance server has the same answer directly, through a relay and through a bridge. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type HttpAnswer, post, startBridge, startRelay } from '../http/listener-setup.ts';

const server = fileURLToPath(new URL('./server.ts', import.meta.url));

const requests: readonly (readonly [method: string, params: object])[] = [
  ['ping', {}],
  ['tools/list', {}],
  ['tools/call', { name: 'test_simple_text', arguments: {} }],
  ['tools/call', { name: 'test_multiple_content_types', arguments: {} }],
  ['tools/call', { name: 'test_tool_with_logging', arguments: {} }],
  ['tools/call', { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 7 } }],
  ['tools/call', { name: 'test_error_handling', arguments: {} }],
  ['tools/call', { name: 'unknown', arguments: {} }],
  ['resources/list', {}],
  ['resources/read', { uri: 'test://static-binary' }],
  ['prompts/get', { name: 'test_prompt_with_image' }],
  ['vendor/unknown', { big: 1 }],
];

/** The messages of an answer, from JSON or events. */
function listMessages({ text }: HttpAnswer): readonly unknown[] {
  const events = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data!);
  return (events.length > 0 ? events : [text]).map((each) => JSON.parse(each) as unknown);
}

async function ask(url: string): Promise<readonly unknown[]> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const first = await post(url, { jsonrpc: '2.0', id: 'i', method: 'initialize', params });
  const own = { 'mcp-session-id': String(first.headers['mcp-session-id']), 'mcp-protocol-version': '2025-06-18' };
  const done = await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, own);
  const answers = [listMessages(first), done.status];
  for (const [id, [method, more]] of requests.entries())
    answers.push(listMessages(await post(url, { jsonrpc: '2.0', id, method, params: more }, own)));
  return answers;
}

test('answers are the same directly, through HTTP to HTTP, and through HTTP to stdio', {
  timeout: 60_000,
}, async () => {
  const child = spawn(process.execPath, [server, '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  after(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stderr.setEncoding('utf8'), 'data')) as [string];
  const url = /http:\S+/.exec(line)![0];
  const relay = await startRelay(new URL(url));
  const bridge = await startBridge([process.execPath, server]);
  const direct = await ask(url);
  assert.deepEqual(await ask(relay.url), direct);
  assert.deepEqual(await ask(bridge.url), direct);
});
