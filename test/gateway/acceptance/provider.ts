/** A provider that answers by the plan, and counts for itself what it sent. No code of `src/`. */

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { lettersPerToken, models, type PlannedRequest, type Tokens } from './plan.ts';

/** What the provider sent for one request. */
export interface Sent {
  attempts: number;
  /** Output tokens in the chunks that were written. */
  outputTokens: number;
  /** Whether the prompt was reported, and whether the usage of the whole answer was. */
  hasInput: boolean;
  hasUsage: boolean;
}

export async function openProvider(plan: readonly PlannedRequest[]) {
  const sent: Sent[] = plan.map(() => ({ attempts: 0, outputTokens: 0, hasInput: false, hasUsage: false }));
  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const id = Number(/request (\d+):/.exec(Buffer.concat(parts).toString())?.[1]);
    await answer(plan[id]!, sent[id]!, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    sent,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(planned: PlannedRequest, sent: Sent, response: ServerResponse): Promise<void> {
  const { ending, isStream } = planned;
  sent.attempts++;
  if (ending === 'status') return sendStatus(response, planned.status);
  // A busy provider takes the second attempt.
  if (ending === 'busy' && sent.attempts === 1) return sendStatus(response, 503);
  if (isStream) await sendStream(planned, sent, response);
  else if (ending === 'drop') await new Promise((resolve) => response.on('close', resolve));
  else if (ending === 'broken') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '10000' });
    response.write('{"id":"1"');
    await sleep(1);
    response.destroy();
  } else sendWhole(planned, sent, response);
}

function sendStatus(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { type: 'api_error', message: 'no' } }));
}

function sendWhole(planned: PlannedRequest, sent: Sent, response: ServerResponse): void {
  const text = JSON.stringify(writeWhole(planned));
  const encodings = [
    ['identity', Buffer.from(text)],
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
  ] as const;
  const [encoding, bytes] = encodings[planned.id % 10 === 0 ? 1 : planned.id % 10 === 1 ? 2 : 0]!;
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
  response.end(bytes);
  sent.outputTokens = planned.tokens.output;
  sent.hasUsage = true;
}

async function sendStream(planned: PlannedRequest, sent: Sent, response: ServerResponse): Promise<void> {
  const { ending, chunks, cutAfter, api } = planned;
  const events = writeStream(planned);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(events.head);
  sent.hasInput = api === 'messages';
  for (const [at, tokens] of chunks.entries()) {
    const bytes = Buffer.from(events.chunk(at));
    // Split anywhere, also inside of a letter.
    const middle = (planned.id * 31 + at * 17) % bytes.length;
    response.write(bytes.subarray(0, middle));
    if (at % 7 === 0) await sleep(1);
    response.write(bytes.subarray(middle));
    sent.outputTokens += tokens;
    if (api === 'gemini') sent.hasInput = true;
    if (at + 1 < cutAfter || ending === 'well' || ending === 'busy') continue;
    if (ending === 'broken') {
      await sleep(5);
      response.destroy();
    } else await new Promise((resolve) => response.on('close', resolve));
    return;
  }
  response.end(events.tail);
  sent.hasUsage = planned.reportsUsage;
}

/** The usage of a call in the spelling of its API, with some of its output. */
function writeUsage({ api, tokens }: PlannedRequest, output = tokens.output): Record<string, unknown> {
  const { fresh, read, written, hour }: Tokens = tokens;
  const input = fresh + read + written + hour;
  switch (api) {
    case 'messages':
      return {
        ...{ input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: written + hour },
        cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: hour },
        output_tokens: output,
      };
    case 'chat':
      return {
        ...{ prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
        prompt_tokens_details: { cached_tokens: read },
        completion_tokens_details: { reasoning_tokens: 0 },
      };
    case 'responses':
      return {
        ...{ input_tokens: input, output_tokens: output, total_tokens: input + output },
        input_tokens_details: { cached_tokens: read },
      };
    case 'gemini':
      return {
        ...{ promptTokenCount: input, cachedContentTokenCount: read },
        ...{ candidatesTokenCount: output, totalTokenCount: input + output },
      };
  }
}

const textOf = (tokens: number) => 'wör '.repeat(tokens).slice(0, tokens * 4 - tokens);

function writeWhole(planned: PlannedRequest): object {
  const { api, tokens } = planned;
  const model = models[api];
  const text = textOf(tokens.output);
  const usage = writeUsage(planned);
  switch (api) {
    case 'messages':
      return {
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
        usage,
      };
    case 'chat':
      return {
        object: 'chat.completion',
        model,
        choices: [{ message: { content: text }, finish_reason: 'stop' }],
        usage,
      };
    case 'responses':
      return { object: 'response', model, status: 'completed', output: [{ content: [{ text }] }], usage };
    case 'gemini':
      return {
        candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
        usageMetadata: usage,
        modelVersion: model,
      };
  }
}

export function writeStream(planned: PlannedRequest) {
  const { api, chunks, reportsUsage } = planned;
  const model = models[api];
  const event = (data: object) =>
    `${'type' in data ? `event: ${String(data.type)}\n` : ''}data: ${JSON.stringify(data)}\n\n`;
  const sumTo = (at: number) => chunks.slice(0, at + 1).reduce((sum, each) => sum + each, 0);
  const text = (at: number) => 'abc '.repeat(chunks[at]!).slice(0, chunks[at]! * lettersPerToken);
  const usage = writeUsage(planned);
  const reported = reportsUsage ? event({ model, choices: [], usage }) : '';
  switch (api) {
    case 'messages':
      return {
        head:
          event({ type: 'message_start', message: { model, content: [], usage: writeUsage(planned, 1) } }) +
          event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
        chunk: (at: number) =>
          event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: text(at) } }),
        tail:
          event({ type: 'content_block_stop', index: 0 }) +
          event({
            type: 'message_delta',
            delta: { stop_reason: 'end_turn' },
            usage: { output_tokens: usage.output_tokens },
          }) +
          event({ type: 'message_stop' }),
      };
    case 'chat':
      return {
        head: event({ model, choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
        chunk: (at: number) => event({ model, choices: [{ index: 0, delta: { content: text(at) } }] }),
        tail: [
          event({ model, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
          reported,
          'data: [DONE]\n\n',
        ].join(''),
      };
    case 'responses':
      return {
        head: event({ type: 'response.created', response: { model, output: [] } }),
        chunk: (at: number) => event({ type: 'response.output_text.delta', delta: text(at) }),
        tail: event({ type: 'response.completed', response: { model, status: 'completed', output: [], usage } }),
      };
    case 'gemini': {
      const chunk = (at: number, rest: object = {}) => ({
        candidates: [{ content: { parts: [{ text: text(at) }] }, ...rest }],
        ...{ usageMetadata: writeUsage(planned, sumTo(at)), modelVersion: model },
      });
      return {
        head: '',
        chunk: (at: number) => event(chunk(at, at + 1 === chunks.length ? { finishReason: 'STOP' } : {})),
        tail: '',
      };
    }
  }
}
