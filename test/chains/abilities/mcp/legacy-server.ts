/** An MCP server of 2024, written without any SDK: it knows three requests, and ends at what it does not know. */

import { createInterface } from 'node:readline';

const answers: Readonly<Record<string, (params: { readonly arguments?: unknown }) => object>> = {
  initialize: () => ({
    protocolVersion: '2024-11-05',
    capabilities: { tools: {} },
    serverInfo: { name: 'old', version: '0.1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: args }) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
};

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue; // A notification.
  if (!Object.hasOwn(answers, method)) process.exit(1);
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]!(params ?? {}) })}\n`);
}
