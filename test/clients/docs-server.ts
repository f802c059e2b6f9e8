/** An MCP server: its tool `look` answers, its tool `fail` does not. Writes every line to the file in DOCS_LOG. */

import { appendFileSync } from 'node:fs';

let rest = '';
process.stdin.on('data', (data) => {
  const lines = (rest + data).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) read(line);
});

const tool = (name: string) => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: { type: 'object', properties: { page: { type: 'string' } } },
});

function read(line: string): void {
  appendFileSync(process.env.DOCS_LOG!, `${line}\n`);
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const serverInfo = { name: 'docs', version: '1' };
  const text = `${params?.name} of ${JSON.stringify(params?.arguments)}`;
  const results: Record<string, object> = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools: [tool('look'), tool('fail')] },
    'tools/call': { content: [{ type: 'text', text }], isError: params?.name === 'fail' },
  };
  const result = results[method];
  const answer = result === undefined ? { error: { code: -32601, message: 'unknown method' } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
}
