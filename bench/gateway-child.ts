/**
 * Processes of the gateway bench: a provider with fixed answers, a pass-through that looks at nothing, and one that
 * reads requests, answers and events as JSON and adds up usage, and does nothing else that a gateway does.
 */

import { Agent, createServer, type Server, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

const [role = '', upstreamPort = ''] = process.argv.slice(2);

const usage = { prompt_tokens: 220, completion_tokens: 100, total_tokens: 320 };
const text = 'a few words of an answer that is as long as a short paragraph usually is. '.repeat(4);
const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
const about = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'gpt-4o-2024-08-06' };
const whole = Buffer.from(JSON.stringify({ ...about, object: 'chat.completion', choices: [choice], usage }));

const chunkOf = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', choices: [{ index: 0, delta }], ...more })}\n\n`;
const words = Array.from({ length: 100 }, (_, at) => chunkOf({ content: ` word${at}` }));
const frames = [chunkOf({ role: 'assistant' }), ...words, chunkOf({}, { choices: [], usage }), 'data: [DONE]\n\n'];

/** Answers as a provider: a request for a stream gets its frames one by one. */
function createMock() {
  return createServer((request, response) => {
    let isStream = false;
    request.on('data', (part: Buffer) => {
      isStream ||= part.includes('"stream":true');
    });
    request.on('end', () => {
      if (!isStream) {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length }).end(whole);
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const frame of frames) response.write(frame);
      response.end();
    });
  });
}

function createBarePassThrough(port: string) {
  const agent = new Agent({ keepAlive: true, scheduling: 'lifo' });
  return createServer((request, response) => {
    const { method, url, headers } = request;
    const options = { agent, host: '127.0.0.1', port, method, path: url, headers };
    const sent = sendRequest(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy());
    request.pipe(sent);
  });
}

/** Tokens that have passed, as a gateway without any limit would count them. */
let countedTokens = 0;

function countUsage(text: string): void {
  const { usage: reported } = JSON.parse(text) as { usage?: { total_tokens: number } | null };
  countedTokens += reported?.total_tokens ?? 0;
}

function createReadingPassThrough(port: string) {
  const agent = new Agent({ keepAlive: true, scheduling: 'lifo' });
  return createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts);
      const { stream: isStream } = JSON.parse(body.toString()) as { stream?: boolean };
      const { method, url, headers } = request;
      const options = { agent, host: '127.0.0.1', port, method, path: url, headers };
      const sent = sendRequest(options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        const pieces: Buffer[] = [];
        let held = '';
        answer.on('data', (piece: Buffer) => {
          if (isStream !== true) return void pieces.push(piece);
          const events = (held + piece.toString()).split('\n\n');
          held = events.pop()!;
          for (const event of events) if (event !== 'data: [DONE]') countUsage(event.slice('data: '.length));
          response.write(piece);
        });
        answer.on('end', () => {
          const whole = Buffer.concat(pieces);
          if (isStream !== true) countUsage(whole.toString());
          response.end(whole);
        });
      });
      sent.on('error', () => response.destroy());
      sent.end(body);
    });
  });
}

const servers: Readonly<Record<string, () => Server>> = {
  mock: createMock,
  bare: () => createBarePassThrough(upstreamPort),
  reading: () => createReadingPassThrough(upstreamPort),
};
const server = servers[role]!();
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.once('SIGTERM', () => {
  console.log(`${countedTokens} tokens`);
  process.exit();
});
