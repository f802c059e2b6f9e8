/**
 * The process of the proxy between hostile frames of both sides, with calls among them and a line of 50 MB each: it
 * stays alive, answers, and takes less than 200 MB of memory. The same for long answers to clients by HTTP. The short
 * form has fewer frames, and shorter lines and answers.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { byForm } from '../../attacks/held/attempts.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin, sourceBin } from '../../harness/switchgear-bin.ts';
import { createRandom, makeFrame } from '../../mcp/hostile-frame.ts';
import { startHttpServer } from '../../mcp/http/http-setup.ts';
import { post } from '../../mcp/http/listener-setup.ts';
import { createPlace, serverFile } from './proxy-process.ts';

/** Where the sources run, what compiles them takes some memory, too. */
const peakMax = bin === sourceBin ? 260_000_000 : 200_000_000;

const noisyServer = fileURLToPath(new URL('./noisy-server.ts', import.meta.url));

/** The most memory that a process has taken so far, in bytes; undefined where the system does not tell. */
function readPeak(pid: number): number | undefined {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  } catch {
    return undefined;
  }
}

test('the proxy takes less than 200 MB, whatever client and server send', { timeout: 300_000 }, async (context) => {
  const place = createPlace();
  context.after(place.clear);
  const random = createRandom(50);
  const line = (n: number) =>
    n % 10 === 0
      ? `{"jsonrpc":"2.0","id":${n},"method":"tools/call","params":{"name":"t${n % 3}","arguments":{"n":${n}}}}`
      : makeFrame(random);
  const frames = Array.from({ length: byForm(100_000, 2_000) }, (_, n) => line(n));
  const file = join(place.folder, 'frames');
  writeFileSync(file, `${frames.join('\n')}\n`, 'latin1');
  const longBytes = byForm(50_000_000, 5_000_000);
  const command = [process.execPath, noisyServer, file, String(longBytes)];
  const child = spawn(process.execPath, [bin, 'mcp', '--store', place.store, '--', ...command], {
    cwd: place.folder,
    env: { ...compiled, PATH: process.env.PATH, HOME: place.folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  context.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const first = once(child.stdout, 'data');
  const answered = waitForText(child.stdout, '"id":"last"');
  const write = (part: string | Buffer) => (child.stdin.write(part) ? undefined : once(child.stdin, 'drain'));
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tester', version: '1' } };
  await write(`${JSON.stringify({ jsonrpc: '2.0', id: 'first', method: 'initialize', params })}\n`);
  await first;
  await write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const bytes = readFileSync(file);
  for (let at = 0; at < bytes.length; at += 50_000) await write(bytes.subarray(at, at + 50_000));
  await write('{"jsonrpc":"2.0","id":"long","method":"vendor/large","params":"');
  const part = Buffer.alloc(100_000, 'a');
  for (let at = 0; at < longBytes; at += part.length) await write(part);
  await write('"}\n{"jsonrpc":"2.0","id":"last","method":"vendor/last"}\n');
  await Promise.race([answered, exited]);
  const peak = readPeak(child.pid!);
  child.stdin.end();
  assert.equal((await exited)[0], 0);
  context.diagnostic(`${((peak ?? 0) / 1_000_000).toFixed(0)} MB`);
  assert.ok(peak === undefined || peak < peakMax, `${peak} bytes`);
});

const fill = (bytes: number) => `{"content":[{"type":"text","text":"${'y'.repeat(bytes)}"}]}`;

for (const behind of ['stdio', 'HTTP'] as const) {
  test(`HTTP to ${behind}: the proxy takes less than 200 MB, however many long answers come at once`, {
    timeout: 300_000,
  }, async (context) => {
    const place = createPlace();
    context.after(place.clear);
    const bytes = byForm(15_000_000, 10_000_000);
    const remote = await startHttpServer(({ frame, json, response }) => {
      if (frame.method === 'tools/call') json(`{"jsonrpc":"2.0","id":${frame.id},"result":${fill(bytes)}}`);
      else if (frame.id === undefined) response.writeHead(202).end();
      else json({ jsonrpc: '2.0', id: frame.id, result: {} }, 200, { 'mcp-session-id': 's' });
    });
    const server = behind === 'HTTP' ? ['--url', remote.url.href] : ['--', process.execPath, serverFile];
    const child = spawn(process.execPath, [bin, 'mcp', '--store', place.store, '--listen', '0', ...server], {
      cwd: place.folder,
      env: { ...compiled, PATH: process.env.PATH, HOME: place.folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    context.after(() => child.kill('SIGTERM'));
    const [, url = ''] = /listening on (\S+)/.exec(String((await once(child.stderr, 'data'))[0])) ?? [];
    const ask = async (n: number) => {
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tester', version: '1' } };
      const { headers } = await post(url, { jsonrpc: '2.0', id: 'i', method: 'initialize', params });
      const own = { 'mcp-session-id': String(headers['mcp-session-id']) };
      await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, own);
      for (let round = 0; round < 2; round++) {
        const call = { name: 'big', arguments: { bytes, n, round } };
        const { text } = await post(
          url,
          { jsonrpc: '2.0', id: n * 10 + round, method: 'tools/call', params: call },
          own,
        );
        assert.ok(text.length > bytes, text.slice(0, 200));
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, n) => ask(n)));
    const peak = readPeak(child.pid!);
    context.diagnostic(`${((peak ?? 0) / 1_000_000).toFixed(0)} MB`);
    assert.ok(peak === undefined || peak < peakMax, `${peak} bytes`);
  });
}

/** Reads a stream until a text comes; the rest of it is read and forgotten. */
function waitForText(stream: Readable, text: string): Promise<void> {
  return new Promise((resolve) => {
    let end = '';
    stream.on('data', (chunk: Buffer) => {
      const read = end + chunk.toString('latin1');
      end = read.slice(-text.length);
      if (read.includes(text)) resolve();
    });
  });
}
