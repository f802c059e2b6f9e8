/** Two gateway processes on one store: a joint budget, and a gateway that is killed and started again. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bin } from '../../harness/switchgear-bin.ts';
import { storePlace, testOn } from '../../stores/both-stores.ts';
import { ask, streamHead, streamTail, streamText } from '../harness.ts';

const { folder, server } = storePlace();
const body = JSON.stringify({ ...ask, max_tokens: 64_000, stream: true });
const chunkTokens = 100;
const chunk = streamText('abc '.repeat(chunkTokens));
const inputTokens = 100;
/** Dollars of the input and of one chunk. */
const inputUsd = inputTokens * 3e-6;
const chunkUsd = chunkTokens * 15e-6;

/** Chunks that each stream may write; more are written when the number grows. */
let allowance = Number.POSITIVE_INFINITY;
const chunksMax = 1_000;
const streams = new Set<ServerResponse>();
const mock = createServer(async (incoming, response) => {
  incoming.resume();
  streams.add(response);
  response.on('close', () => streams.delete(response));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(streamHead(inputTokens));
  for (let at = 0; at < chunksMax && !response.destroyed; at++) {
    while (at >= allowance && !response.destroyed) await sleep(2);
    response.write(chunk);
    await sleep(2);
  }
  response.end(streamTail(chunksMax * chunkTokens));
});

const children: ChildProcess[] = [];

before(() => new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve)));
after(() => {
  mock.closeAllConnections();
  mock.close();
});

interface Gateway {
  readonly child: ChildProcess;
  readonly port: number;
}

async function start(store: string, ...options: string[]): Promise<Gateway> {
  const upstream = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
  const args = [bin, 'gateway', '--store', store, '--port', '0', '--upstream', upstream, ...options];
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, port: Number(/:(\d+)\s*$/.exec(line.toString())?.[1]) };
}

async function end({ child }: Gateway, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** What one client got. */
interface Received {
  status: number;
  text: string;
  /** How the answer ended: well, or broken off. */
  ending: 'well' | 'broken' | undefined;
}

function countUsd({ text }: Received): number {
  const chunks = [...text.matchAll(/abc /g)].length / chunkTokens;
  return text.includes('message_start') ? inputUsd + chunks * chunkUsd : 0;
}

function send(port: number, task: string): { readonly received: Received; readonly done: Promise<Received> } {
  const received: Received = { status: 0, text: '', ending: undefined };
  const done = new Promise<Received>((resolve) => {
    const finish = (ending: 'well' | 'broken') => {
      received.ending ??= ending;
      resolve(received);
    };
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path: `/task/${task}/v1/messages` }, (answer) => {
      received.status = answer.statusCode ?? 0;
      answer.on('data', (part: Buffer) => {
        received.text += part.toString();
      });
      answer.on('end', () => finish('well'));
      answer.on('error', () => finish('broken'));
    });
    sent.on('error', () => finish('broken'));
    sent.end(body);
  });
  return { received, done };
}

/** Sends a request again while the gateway says that it may come again in a moment, as clients do. */
async function sendAgain(port: number, task: string): Promise<Received> {
  for (let tries = 0; ; tries++) {
    const received = await send(port, task).done;
    if (received.status !== 503 || tries === 5) return received;
    await sleep(1_000);
  }
}

after(() => {
  for (const child of children) child.kill('SIGKILL');
});

const kinds = {
  'in a file': (name: string) => `sqlite:${join(folder, `${name}.db`)}`,
  'in Redis': (name: string) => `${server().url}/${name === 'dollar' ? 1 : 2}`,
} as const;

for (const [kind, place] of Object.entries(kinds)) {
  testOn(kind)(`a dollar under 50 streams of two gateways is not passed, on a store ${kind}`, async () => {
    const policy = join(folder, `${kind.replaceAll(' ', '-')}.toml`);
    writeFileSync(policy, '[[budgets]]\nscope = "global"\nunit = "spend_cents"\nlimit = 100\n');
    const options = ['--policy', policy] as const;
    const gateways = await Promise.all([start(place('dollar'), ...options), start(place('dollar'), ...options)]);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => sendAgain(gateways[at % 2]!.port, `s${at}`)),
    );
    const spent = answers.reduce((sum, each) => sum + countUsd(each), 0);
    assert.ok(spent <= 1 + 50 * chunkUsd, `${spent}`);
    assert.ok(spent > 0.8, `${spent}`);
    for (const { status, text, ending } of answers) {
      assert.equal(ending, 'well');
      assert.ok(status === 402 || (status === 200 && text.includes('message_stop')), `${status} ${text.slice(-200)}`);
    }
    const [late] = await Promise.all(gateways.map(({ port }) => sendAgain(port, 'late')));
    assert.ok(late!.status === 402 || /Switchgear/.test(late!.text), `${late!.status}`);
    await Promise.all(gateways.map((each) => end(each)));
    assert.equal(streams.size, 0, 'no stream of the provider is left open');
  });

  testOn(kind)(`a killed gateway has lost and doubled nothing when it is started again, ${kind}`, async () => {
    const store = place('killed');
    allowance = 300;
    const first = await start(store, '--max-spend', '1');
    const stream = send(first.port, 'night');
    while (countUsd(stream.received) < inputUsd + 300 * chunkUsd - 1e-9) await sleep(5);
    await sleep(400); // Until the last step is stored.
    await end(first, 'SIGKILL');
    assert.equal((await stream.done).ending, 'broken', 'the client sees that the answer is not complete');
    allowance = Number.POSITIVE_INFINITY;
    const second = await start(store, '--max-spend', '1');
    const rest = await send(second.port, 'night').done;
    assert.match(rest.text, /Switchgear.*message_stop/s);
    const spent = countUsd(stream.received) + countUsd(rest);
    // A step of 250 tokens may have been reserved ahead; tokens are estimated a little too high.
    assert.ok(spent <= 1 + chunkUsd && spent > 0.93, `${spent}`);
    assert.equal((await send(second.port, 'night').done).status, 402);
    await end(second);
  });
}
