/**
 * An MCP server that answers the handshake, then writes the frames of a file and one long line, whatever it is sent. It
 * answers the request `vendor/last` when all of them are written.
 */

import { readFileSync } from 'node:fs';

const [file = '', longBytes = '0'] = process.argv.slice(2);
const write = (part: string | Buffer) =>
  process.stdout.write(part) ? undefined : new Promise((resolve) => process.stdout.once('drain', resolve));
const answer = (id: unknown, result: object) => write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);

async function makeNoise(): Promise<void> {
  const bytes = readFileSync(file);
  for (let at = 0; at < bytes.length; at += 50_000) await write(bytes.subarray(at, at + 50_000));
  await write('{"jsonrpc":"2.0","id":"large","result":"');
  const part = Buffer.alloc(100_000, 'a');
  for (let at = 0; at < Number(longBytes); at += part.length) await write(part);
  await write('"}\n');
}

let noise: Promise<void> | undefined;
/** The end of the last line, which may be long. */
let rest = '';
process.stdin.setEncoding('latin1').on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop()!.slice(-1_000);
  for (const line of lines) read(line);
});

function read(line: string): void {
  if (line.includes('"method":"initialize"') && noise === undefined) {
    const { id, params } = JSON.parse(line) as { id: unknown; params: { protocolVersion: string } };
    const serverInfo = { name: 'noisy', version: '1' };
    void answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
    noise = makeNoise();
  } else if (line.includes('"vendor/last"')) {
    const { id } = JSON.parse(line) as { id: unknown };
    void noise?.then(() => answer(id, {}));
  }
}
