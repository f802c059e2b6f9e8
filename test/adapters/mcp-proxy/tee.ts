/**
 * Runs a server and writes everything that passes to FILE.in and FILE.out, and in its order to FILE.jsonl:
 * `tee.ts FILE COMMAND …`.
 */

import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';

const [file, command = '', ...args] = process.argv.slice(2);
for (const end of ['in', 'out', 'jsonl']) writeFileSync(`${file}.${end}`, '');
const keep = (from: 'client' | 'server', data: Buffer) => {
  appendFileSync(`${file}.${from === 'client' ? 'in' : 'out'}`, data);
  appendFileSync(`${file}.jsonl`, `${JSON.stringify({ from, text: data.toString('utf8') })}\n`);
};
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.on('data', (data: Buffer) => {
  keep('client', data);
  child.stdin.write(data);
});
process.stdin.on('end', () => child.stdin.end());
process.on('SIGTERM', () => child.kill());
child.stdin.on('error', () => undefined);
child.stdout.on('data', (data: Buffer) => {
  keep('server', data);
  process.stdout.write(data);
});
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
  process.stdin.destroy();
});
