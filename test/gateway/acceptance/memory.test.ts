/** The memory of a real gateway process: with 500 open streams, over many requests, and over many sessions. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin } from '../../harness/switchgear-bin.ts';
import { ask, messageOf, sendJson, streamHead, streamTail, streamText } from '../harness.ts';
import { apis, readFiles } from '../history.ts';

const count = Number(process.env.GATEWAY_REQUESTS ?? 120) * 10;

/** An answer that comes: its first part, and all of it. */
interface Receiving {
  readonly first: Promise<void>;
  readonly text: Promise<string>;
}

/** Megabytes of a process: now, and the most so far. */
function readMemory(pid: number): { readonly now: number; readonly most: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1]) / 1024;
  return { now: read('VmRSS'), most: read('VmHWM') };
}

test('500 open streams and sessions with tools need less than 250 MB, and requests leave nothing behind', {
  skip: process.platform !== 'linux',
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-memory-'));
  const streams: ServerResponse[] = [];
  const mock = createServer((incoming, response) => {
    incoming.resume();
    if (incoming.headers['x-stream'] === undefined) {
      sendJson(response, messageOf('hi', 10, 10));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(streamHead(10) + streamText('abc '.repeat(100)).repeat(20));
    streams.push(response);
  });
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  const upstream = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
  const store = `sqlite:${join(folder, 'gear.db')}`;
  const args = [bin, 'gateway', '--store', store, '--port', '0', '--upstream', upstream, '--max-spend', '1000'];
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const agent = new Agent({ maxSockets: 1_000 });
  context.after(() => {
    agent.destroy();
    child.kill('SIGKILL');
    mock.closeAllConnections();
    mock.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(/:(\d+)\s*$/.exec(line.toString())?.[1]);

  function send(task: string, isStream: boolean, body: object = ask): Promise<Receiving> {
    const headers = { ...(isStream && { 'x-stream': '1' }) };
    return new Promise((resolve, reject) => {
      const sent = request({
        host: '127.0.0.1',
        port,
        agent,
        method: 'POST',
        path: `/task/${task}/v1/messages`,
        headers,
      });
      sent.on('error', reject);
      sent.on('response', (answer) => {
        let text = '';
        answer.on('data', (part) => {
          text += part;
        });
        resolve({
          first: once(answer, 'data').then(() => {}),
          text: once(answer, 'end').then(() => text),
        });
      });
      sent.end(JSON.stringify({ ...body, stream: isStream, system: 'a few words '.repeat(200) }));
    });
  }

  const open = await Promise.all(Array.from({ length: 500 }, (_, at) => send(`s${at}`, true)));
  await Promise.all(open.map(({ first }) => first));
  assert.equal(streams.length, 500);
  const withStreams = readMemory(child.pid!);
  assert.ok(withStreams.most < 250, `${withStreams.most} MB`);
  for (const each of streams) each.end(streamTail(2_000));
  for (const { text } of open) assert.match(await text, /message_stop/);

  let sent = 0;
  const work = async (until: number) => {
    while (sent < until) await (await send(`t${++sent % 50}`, false)).text;
  };
  await Promise.all(Array.from({ length: 16 }, () => work(count / 2)));
  const half = readMemory(child.pid!);
  await Promise.all(Array.from({ length: 16 }, () => work(count)));
  const all = readMemory(child.pid!);
  assert.ok(all.now < half.most + 40, `${half.now} MB after ${count / 2} requests, ${all.now} MB after ${count}`);
  assert.ok(all.most < 250, `${all.most} MB`);

  // Sessions with tools, three requests each.
  let session = 0;
  const converse = async () => {
    while (session < count * 0.3) {
      const at = ++session;
      for (let turns = 2; turns <= 6; turns += 2)
        await (await send(`w${at}`, false, apis.anthropic.body(`task ${at}`, readFiles(turns)))).text;
    }
  };
  await Promise.all(Array.from({ length: 16 }, converse));
  const withSessions = readMemory(child.pid!);
  assert.ok(withSessions.most < 250, `${withSessions.most} MB after ${session} sessions`);
  context.diagnostic(JSON.stringify({ withStreams, half, all, withSessions, count }));
});
