/** An MCP server loses its upstream: after five failures its tool rests, and the agent uses another one meanwhile. */

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/mcp-client';

let asked = 0;
const server = new McpServer({ name: 'weather', version: '1.0.0' });
server.registerTool('forecast', {}, async () => {
  asked++;
  throw new Error('no signal');
});
server.registerTool('almanac', {}, async () => ({ content: [{ type: 'text', text: 'Rain, as every year.' }] }));
const [near, far] = InMemoryTransport.createLinkedPair();
await server.connect(far);

const gear = createSwitchgear({ agent: 'Sailor', log: 'silent' });
const client = protect(new Client({ name: 'sailor', version: '1.0.0' }), { gear });
await client.connect(near);

const result = await gear.task({}, async () => {
  for (let day = 1; day <= 10; day++) {
    const answer = await client.callTool({ name: 'forecast', arguments: { day } });
    const [part] = answer.content;
    console.log(`day ${day}:`, part?.type === 'text' ? part.text : part);
    if (answer._meta?.switchgear !== undefined) break;
  }
  return client.callTool({ name: 'almanac' });
});

assert.equal(asked, 5);
assert.equal(result.status, 'done');
assert.equal(gear.breaker('weather.forecast').state, 'OPEN');
assert.equal(gear.breaker('weather.almanac').state, 'CLOSED');
