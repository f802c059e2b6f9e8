/**
 * An MCP server over stdio, written by hand so that it can do what no SDK does. Its tools: `echo` answers with the raw
 * text of the request, `raw` with the line it is given, `fail` and `read_doc` with an error, `hang` never, `crash` ends
 * the process, `child` starts a process that outlives its input, `env` answers with its environment. Each call is
 * written to the file in SCRIPTED_LOG.
 */

import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const log = (text: string) => {
  if (process.env.SCRIPTED_LOG) appendFileSync(process.env.SCRIPTED_LOG, `${text}\n`);
};
const write = (text: string) => process.stdout.write(`${text}\n`);
const answer = (id: unknown, result: object) => write(JSON.stringify({ jsonrpc: '2.0', id, result }));
const text = (value: string, isError = false) => ({ content: [{ type: 'text', text: value }], isError });

log(`start ${process.pid}`);
if (process.argv.includes('--exit-at-once')) process.exit(4);
if (process.argv.includes('--deaf')) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1_000);
}

// Not by node:readline, which also splits at U+2028.
let rest = Buffer.alloc(0);
const parts: Buffer[] = [];
process.stdin.on('data', (chunk: Buffer) => {
  parts.push(chunk);
  if (!chunk.includes(0x0a)) return;
  rest = Buffer.concat(parts.splice(0));
  for (let end = rest.indexOf(0x0a); end !== -1; end = rest.indexOf(0x0a)) {
    read(rest.subarray(0, end).toString('utf8'));
    rest = rest.subarray(end + 1);
  }
  if (rest.length > 0) parts.push(rest);
});

function read(line: string): void {
  let message: { id?: unknown; method?: string; params?: Record<string, unknown> };
  try {
    message = JSON.parse(line);
  } catch {
    write(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: `no JSON: ${line.length}` } }));
    return;
  }
  const { id, method, params = {} } = message;
  if (method === 'initialize') {
    log('initialize');
    const serverInfo = { name: 'scripted', version: '1', title: 'as it is' };
    const capabilities = { tools: {}, experimental: { unknown: { yes: true } } };
    answer(id, { protocolVersion: params.protocolVersion, capabilities, serverInfo, instructions: 'be kind' });
  } else if (method === 'tools/list') {
    const names = ['echo', 'fail', 'read_doc', 'env'];
    const description = process.env.SCRIPTED_DESCRIPTION ?? 'a tool';
    answer(id, { tools: names.map((name) => ({ name, description, inputSchema: { type: 'object' } })) });
  } else if (method === 'tools/call') {
    const input = params.arguments as Record<string, unknown> | undefined;
    log(`call ${params.name}`);
    if (params.name === 'echo') answer(id, text(line));
    else if (params.name === 'raw') write(String(input?.line).replace('"@ID@"', JSON.stringify(id)));
    else if (params.name === 'fail') answer(id, text(`failed at ${JSON.stringify(input)}`, true));
    else if (params.name === 'read_doc') answer(id, text(`parse failure of ${JSON.stringify(input)}`, true));
    else if (params.name === 'crash') process.exit(3);
    else if (params.name === 'env') answer(id, text(JSON.stringify(process.env)));
    else if (params.name === 'big') answer(id, text('x'.repeat(Number(input?.bytes)), input?.isError === true));
    else if (params.name === 'child') {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      answer(id, text(String(child.pid)));
    } else if (params.name !== 'hang') answer(id, text('ok'));
  } else if (method === 'notifications/cancelled') log(`cancelled ${JSON.stringify(params.requestId)}`);
  else if (id !== undefined && method !== undefined) {
    answer(id, { method, raw: line });
  }
}
