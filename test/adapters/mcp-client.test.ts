/** The MCP clients of both generations, each against its own real server in memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as two from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as TransportOne } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as ServerOne } from '@modelcontextprotocol/sdk/server/mcp.js';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/mcp-client';
import { adapterSuite, type HostScene, type HostTool } from 'switchgear/testing';
import { z } from 'zod';
import { playScene } from './plain-loop.ts';

const about = { name: 'shop', version: '1.0.0' };
const inputSchema = z.looseObject({});

/** Every tool of a scene as one of the server. */
function reply(tool: HostTool) {
  return async (input: Record<string, unknown>, { signal }: { readonly signal: AbortSignal }) => ({
    content: [{ type: 'text' as const, text: String(await tool(input, signal)) }],
  });
}

async function connectOne(tools: HostScene['tools']) {
  const server = new ServerOne(about);
  for (const [name, tool] of Object.entries(tools)) server.registerTool(name, { inputSchema }, reply(tool));
  const client = new ClientOne(about);
  const [near, far] = TransportOne.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  return client;
}

async function connectTwo(tools: HostScene['tools']) {
  const server = new McpServer(about);
  for (const [name, tool] of Object.entries(tools)) {
    server.registerTool(name, { inputSchema }, (input, ctx) => reply(tool)(input, ctx.mcpReq));
  }
  const client = new two.Client(about);
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  return client;
}

function textOf(result: unknown): string {
  const { content } = result as { readonly content: readonly { readonly text?: string }[] };
  return content.map(({ text }) => text).join('');
}

const lacks = {
  asks: 'a client has no way to ask a person: the approver of the gear does',
  meters: 'a client calls no model',
  models: 'a client calls no model',
  delegates: 'a client calls tools only',
  errors: 'errors of tools arrive as texts',
};

/** A call that timed out as a text for the model; other errors end the run. */
function showTimeout(error: Error): string {
  if (error.name !== 'TimeoutError') throw error;
  return String(error);
}

adapterSuite({
  name: 'the MCP client 1.x',
  lacks,
  async run(scene) {
    const bare = await connectOne(scene.tools);
    const client = scene.gear === undefined ? bare : protect(bare, { gear: scene.gear, server: '' });
    const options = scene.signal && { signal: scene.signal };
    return playScene(scene, (name, args) =>
      client.callTool({ name, arguments: args }, undefined, options).then(textOf, showTimeout),
    );
  },
});

adapterSuite({
  name: 'the MCP client 2.x',
  lacks,
  async run(scene) {
    const bare = await connectTwo(scene.tools);
    const client = scene.gear === undefined ? bare : protect(bare, { gear: scene.gear, server: '' });
    const options = scene.signal && { signal: scene.signal };
    return playScene(scene, (name, args) =>
      client.callTool({ name, arguments: args }, options).then(textOf, showTimeout),
    );
  },
});

for (const [generation, connect] of [
  ['1.x', connectOne],
  ['2.x', connectTwo],
] as const) {
  test(`${generation}: a breaker is named after server and tool, and code reads the refusal`, async () => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    const client = protect<{
      callTool(call: { name: string }): Promise<unknown>;
      listTools(): Promise<{ tools: unknown[] }>;
    }>(
      (await connect({
        pay: () => {
          throw new Error('no money');
        },
      })) as never,
      { gear },
    );
    assert.equal((await client.listTools()).tools.length, 1);
    for (let attempt = 0; attempt < 5; attempt++) await client.callTool({ name: 'pay' });
    const refused = (await client.callTool({ name: 'pay' })) as { isError: boolean; _meta: { switchgear: object } };
    assert.equal(gear.breaker('shop.pay').state, 'OPEN');
    assert.equal(refused.isError, true);
    assert.equal(Reflect.get(refused._meta.switchgear, 'code'), 'circuit_open');
    assert.match(textOf(refused), /shop\.pay.*60 ?s/);
  });

  test(`${generation}: a call that exceeds its timeout is aborted, and the server is notified`, async () => {
    const gear = createSwitchgear({ log: 'silent', env: {}, policy: { tools: { '*': { timeout_secs: 0.05 } } } });
    const heard = Promise.withResolvers<void>();
    const client = (await connect({
      hang: (_, signal) => new Promise(() => signal?.addEventListener('abort', () => heard.resolve())),
    })) as { callTool(call: { name: string }): Promise<unknown> };
    await assert.rejects(protect(client, { gear }).callTool({ name: 'hang' }), { name: 'TimeoutError' });
    await heard.promise;
    assert.equal(gear.breaker('shop.hang').stats.totalFailures, 1);
  });
}
