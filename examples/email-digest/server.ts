/** A mailbox as an MCP server: three letters came in, and what is sent lies in a file. */

import { appendFileSync } from 'node:fs';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const letters: readonly { readonly folder: string; readonly from: string; readonly subject: string }[] = [
  { folder: 'work', from: 'bo@example.com', subject: 'The plan for Monday' },
  { folder: 'work', from: 'cy@example.com', subject: 'Numbers of October' },
  { folder: 'private', from: 'bank@example.com', subject: 'Your new password is inside' },
];
const { OUTBOX = 'outbox.jsonl' } = process.env;

const text = { type: 'string' } as const;
const where = fromJsonSchema<{ folder: string }>({
  type: 'object',
  properties: { folder: text },
  required: ['folder'],
});
const letter = fromJsonSchema<{ to: string; body: string }>({
  type: 'object',
  properties: { to: text, body: text },
  required: ['to', 'body'],
});

function mailbox(): McpServer {
  const server = new McpServer({ name: 'mail', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.registerTool('unread', { description: 'Letters that nobody read', inputSchema: where }, ({ folder }) => {
    const found = { letters: letters.filter((each) => each.folder === folder) };
    return { content: [{ type: 'text', text: JSON.stringify(found) }], structuredContent: found };
  });
  server.registerTool('send', { description: 'Sends a letter', inputSchema: letter }, ({ to, body }) => {
    appendFileSync(OUTBOX, `${JSON.stringify({ to, body })}\n`);
    return { content: [{ type: 'text', text: `sent to ${to}` }] };
  });
  return server;
}

serveStdio(mailbox);
