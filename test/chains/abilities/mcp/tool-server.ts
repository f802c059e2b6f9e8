/** An MCP server for tests: its tools answer in every way that a tool can. `modern` refuses the older protocol. */

import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [mode] = process.argv.slice(2);
const { STARTS, TOKEN } = process.env;
if (STARTS) appendFileSync(STARTS, `${process.pid}\n`);

type Content = { readonly type: 'text'; readonly text: string };
const text = (said: string): Content => ({ type: 'text', text: said });
const anything = fromJsonSchema<Record<string, unknown>>({ type: 'object' });

/** The server with its tools, for one connection. */
export function toolServer(): McpServer {
  const server = new McpServer({ name: 'tools', version: '1' }, { capabilities: { tools: {} } });
  const tool = (name: string, answer: (args: Record<string, unknown>) => object | Promise<object>) =>
    server.registerTool(name, { inputSchema: anything }, (async (args: Record<string, unknown>) =>
      answer(args)) as never);
  tool('json', () => ({ content: [text('{"price":12.5}')] }));
  tool('digits', () => ({ content: [text('12345678901234567890')] }));
  tool('words', () => ({ content: [text('one'), text('two')] }));
  tool('structured', () => ({ content: [text('in words')], structuredContent: { n: 1 } }));
  tool('picture', () => ({ content: [text('see'), { type: 'image', data: 'AAAA', mimeType: 'image/png' }] }));
  tool('nothing', () => ({ content: [] }));
  tool('fail', () => ({ content: [text('out of\nstock')], isError: true }));
  tool('echo.args', (args) => ({ content: [text(JSON.stringify(args))] }));
  tool('environment', () => ({ content: [text(JSON.stringify({ names: Object.keys(process.env).sort(), TOKEN }))] }));
  tool('large', () => ({ content: [text('x'.repeat(2_000_000))] }));
  tool('huge', () => ({ content: [text('x'.repeat(9_000_000))] }));
  tool('pid', () => ({ content: [text(JSON.stringify({ pid: process.pid, cwd: process.cwd() }))] }));
  tool('die', () => {
    process.stderr.write('first the cause\nno more memory\n');
    process.exit(3);
  });
  tool('hang', () => new Promise<never>(() => {}));
  tool('child', () => {
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    return { content: [text(JSON.stringify({ pid }))] };
  });
  return server;
}

if (import.meta.main) serve();

function serve(): void {
  if (mode === 'broken') {
    process.stderr.write('the key is missing\n');
    process.exitCode = 7;
    return;
  }
  if (mode === 'chatty') process.stdout.write('Listening to {you}\n\n');
  if (mode === 'deaf') {
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
  }
  serveStdio(toolServer, { legacy: mode === 'modern' ? 'reject' : 'serve' });
}
