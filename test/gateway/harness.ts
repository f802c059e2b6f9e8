/** A mock provider and a gateway before it, on real sockets. */

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { TaskSettings } from '../../src/core/settings.ts';
import type { KeyBook } from '../../src/gateway/keys/key-records.ts';
import { startGateway } from '../../src/gateway/start-gateway.ts';
import { createUpstreamChoice } from '../../src/gateway/upstream-choice.ts';
import type { SwitchgearOptions } from '../../src/guard/api.ts';
import { createSwitchgear } from '../../src/guard/create-switchgear.ts';
import { runtimeOf, type TaskState } from '../../src/guard/internal.ts';
import type { PolicyDocument, UpstreamDocument } from '../../src/policy/table/policy-document.ts';
import { memoryStore } from '../../src/stores/memory.ts';

/** A request as the mock got it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Resolves when its connection is closed before the answer has ended. */
  readonly aborted: Promise<void>;
}

export type Answer = (received: Received, response: ServerResponse) => unknown;

export interface Setup {
  readonly answer?: Answer;
  readonly limits?: Partial<TaskSettings>;
  readonly gear?: SwitchgearOptions;
  readonly policy?: PolicyDocument;
  readonly isLimited?: boolean;
  readonly allowedPaths?: readonly string[];
  readonly upstream?: URL;
  readonly fallback?: URL;
  readonly silenceMs?: number;
  /** Upstreams of the policy instead of the mock, made from its address. */
  readonly listed?: (mock: string) => readonly UpstreamDocument[];
  /** The variables of the gateway. */
  readonly env?: Readonly<Record<string, string>>;
  readonly keys?: KeyBook;
  readonly needsKey?: boolean;
}

export async function openGateway(context: TestContext, setup: Setup = {}) {
  const received: Received[] = [];
  const answer = setup.answer ?? ((_, response) => response.end('{}'));
  const mock = createServer(async (incoming, response) => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const aborted = new Promise<void>((resolve) => {
      response.on('close', () => response.writableFinished || resolve());
    });
    const { method = '', url = '', headers } = incoming;
    const each = { method, url, headers, body: Buffer.concat(parts).toString(), aborted };
    received.push(each);
    await answer(each, response);
  });
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  const baseUrl = setup.upstream ?? new URL(`http://127.0.0.1:${(mock.address() as AddressInfo).port}`);
  const policy = { ...setup.policy, ...(setup.listed && { upstreams: setup.listed(baseUrl.href.replace(/\/$/, '')) }) };
  const gear = createSwitchgear({ agent: 'test', store: memoryStore(), log: 'silent', env: {}, policy, ...setup.gear });
  const runtime = runtimeOf(gear);
  const gateway = await startGateway(runtime, {
    ...{ host: '127.0.0.1', port: 0, limits: setup.limits ?? {} },
    ...(setup.silenceMs !== undefined && { silenceMs: setup.silenceMs }),
    upstreams: createUpstreamChoice(
      runtime,
      {
        upstreams: setup.listed ? {} : { anthropic: baseUrl, openai: baseUrl, gemini: baseUrl },
        fallbacks: setup.fallback ? { anthropic: setup.fallback } : {},
      },
      { env: setup.env ?? {}, cwd: process.cwd() },
    ),
    isLimited: setup.isLimited ?? false,
    watchesTools: true,
    allowedPaths: setup.allowedPaths ?? [],
    ...(setup.keys && { keys: setup.keys }),
    needsKey: setup.needsKey ?? false,
  });
  context.after(async () => {
    mock.closeAllConnections();
    mock.close();
    await gateway.close();
    gear.dispose();
  });
  const url = `http://127.0.0.1:${gateway.port}`;
  return {
    url,
    direct: baseUrl.href.replace(/\/$/, ''),
    port: gateway.port,
    close: () => gateway.close(),
    received,
    gear,
    runtime,
    /** The only task, or the one with an id. */
    task: (id?: string): TaskState => {
      const found = [...runtime.tasks.values()].find((each) => id === undefined || each.id === id);
      if (found === undefined) throw new Error(`no task ${id ?? ''} among ${[...runtime.tasks.keys()].join(', ')}`);
      return found;
    },
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
}

/** Sends a request whose headers a `fetch` would not send; resolves with status and body. */
export function sendRaw(
  port: number,
  options: { readonly method?: string; readonly path: string; readonly headers?: Record<string, string | string[]> },
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, ...options }, async (response) => {
      let body = '';
      for await (const part of response) body += part;
      resolve({ status: response.statusCode ?? 0, body });
    });
    sent.on('error', reject);
    sent.end();
  });
}

export const sonnet = 'claude-sonnet-4-20250514';
/** A short request. */
export const ask = { model: sonnet, max_tokens: 1_000, messages: [{ role: 'user', content: 'hello' }] };

/** A JSON answer of the Messages API. */
export function messageOf(text: string, input: number, output: number) {
  return {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: sonnet, content: [{ type: 'text', text }] },
    ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: input, output_tokens: output } },
  };
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' });
  response.end(JSON.stringify(value));
}

const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** The beginning of a stream of the Messages API. */
export function streamHead(input: number): string {
  const message = { ...messageOf('', input, 1), content: [], stop_reason: null };
  return (
    event('message_start', { message }) +
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  );
}

export function streamText(text: string): string {
  return event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
}

/** The end of a stream of the Messages API. */
export function streamTail(output: number): string {
  return (
    event('content_block_stop', { index: 0 }) +
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: output },
    }) +
    event('message_stop', {})
  );
}

/** Reads the events of a stream. */
export function readEvents(text: string): readonly Record<string, unknown>[] {
  return text
    .split('\n\n')
    .map((each) => /^data: (.*)$/m.exec(each)?.[1])
    .filter((data) => data !== undefined && data !== '[DONE]')
    .map((data) => JSON.parse(data!) as Record<string, unknown>);
}
