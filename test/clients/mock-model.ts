/** A model that plays a script: it speaks the dialects of the agent CLIs on loopback, and calls what it is told. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the model does in one turn: say something and end, call tools, or never answer. */
export type Turn = (
  | { readonly text: string }
  | { readonly calls: readonly Call[]; readonly says?: string }
  | { readonly silent: true }
) & {
  readonly tokens?: Tokens;
  /** How long the model thinks before it. */
  readonly afterMs?: number;
};

/** What a turn is said to have used. Input is fresh; what a cache had comes on top. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
}

/** A call; what a freeform tool gets is a text. */
export interface Call {
  readonly tool: string;
  readonly input: object | string;
  /** The group of tools it is in, where a CLI has such. */
  readonly namespace?: string;
}

export interface Mock {
  readonly url: string;
  /** Requests that were answered with a turn of the script. */
  turns(): number;
  close(): Promise<void>;
}

type Events = readonly (readonly [string, object])[];
type Speech = Exclude<Turn, { readonly silent: true }>;

/** Starts it. The script is asked for each turn; `about` is what the request said, for agents that send others out. */
export async function mockModel(script: (turn: number, about: string) => Turn): Promise<Mock> {
  let turns = 0;
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const path = request.url ?? '';
    const isAsked = /\/messages|\/responses|\/chat\/completions|GenerateContent/.test(path);
    if (!isAsked || path.includes('count_tokens')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":10,"totalTokens":10}');
      return;
    }
    // Requests without tools are the client's own: titles, classifiers.
    const turn: Turn = /"tools":\s*\[\s*\{/.test(body) ? script(++turns, body) : { text: 'ok' };
    if ('silent' in turn) return;
    if (turn.afterMs !== undefined) await sleep(turn.afterMs);
    const model = (/\/models\/([^:]+):/.exec(path) ?? /"model":\s*"([^"]+)"/.exec(body))?.[1] ?? 'mock';
    if (path.includes('/messages')) stream(response, anthropic(turn, turns, model));
    else if (path.includes('/responses')) stream(response, responses(turn, turns, model));
    else if (path.includes('/chat/completions')) stream(response, chat(turn, turns, model));
    else stream(response, gemini(turn, model));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    turns: () => turns,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

function stream(response: ServerResponse, events: Events): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [name, data] of events) {
    response.write(`${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end();
}

const few: Tokens = { input: 10, output: 5 };

function saidIn(turn: Speech): readonly string[] {
  const words = 'text' in turn ? turn.text : turn.says;
  return words === undefined ? [] : [words];
}

function callsIn(turn: Speech): readonly Call[] {
  return 'calls' in turn ? turn.calls : [];
}

function anthropic(turn: Speech, number: number, model: string): Events {
  const { input, output, cacheRead = 0 } = turn.tokens ?? few;
  const usage = { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: cacheRead };
  const message = { id: `msg_mock_${number}`, type: 'message', role: 'assistant', model, content: [] };
  const blocks = [
    ...saidIn(turn).map((text) => [
      { type: 'text', text: '' },
      { type: 'text_delta', text },
    ]),
    ...callsIn(turn).map(({ tool: name, input: given }, index) => [
      { type: 'tool_use', id: `toolu_mock_${number}_${index}`, name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(given) },
    ]),
  ];
  const reason = 'text' in turn ? 'end_turn' : 'tool_use';
  const events: Events = [
    ['message_start', { message: { ...message, stop_reason: null, usage: { ...usage, output_tokens: 1 } } }],
    ...blocks.flatMap(
      ([content_block, delta], index): Events => [
        ['content_block_start', { index, content_block }],
        ['content_block_delta', { index, delta }],
        ['content_block_stop', { index }],
      ],
    ),
    ['message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: output } }],
    ['message_stop', {}],
  ];
  return typed(events);
}

function responses(turn: Speech, number: number, model: string): Events {
  const { input, output, cacheRead = 0 } = turn.tokens ?? few;
  const said = saidIn(turn).map((text) => ({
    type: 'message',
    id: `m_${number}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  }));
  const called = callsIn(turn).map(({ tool: name, input: given, namespace }, index) => {
    const which = { id: `f_${number}_${index}`, call_id: `call_mock_${number}_${index}`, name, status: 'completed' };
    if (typeof given === 'string') return { type: 'custom_tool_call', ...which, input: given };
    return { type: 'function_call', ...which, ...(namespace && { namespace }), arguments: JSON.stringify(given) };
  });
  const items = [...said, ...called];
  const usage = {
    input_tokens: input + cacheRead,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    total_tokens: input + cacheRead + output,
  };
  const whole = { id: `r_${number}`, object: 'response', model, status: 'completed', output: items, usage };
  const events: Events = [
    ['response.created', { response: { ...whole, status: 'in_progress', output: [] } }],
    ...items.map((item, output_index) => ['response.output_item.done', { output_index, item }] as const),
    ['response.completed', { response: whole }],
  ];
  return typed(events);
}

function chat(turn: Speech, number: number, model: string): Events {
  const { input, output, cacheRead = 0 } = turn.tokens ?? few;
  const tool_calls = callsIn(turn).map(({ tool: name, input: given }, index) => ({
    index,
    id: `call_mock_${number}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }));
  const delta = {
    role: 'assistant',
    content: saidIn(turn).join('\n'),
    ...(tool_calls.length > 0 && { tool_calls }),
  };
  const usage = {
    prompt_tokens: input + cacheRead,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens: output,
    total_tokens: input + cacheRead + output,
  };
  const piece = { id: `chatcmpl_${number}`, object: 'chat.completion.chunk', created: 1_700_000_000, model };
  const finish_reason = tool_calls.length > 0 ? 'tool_calls' : 'stop';
  return [
    ['', { ...piece, choices: [{ index: 0, delta, finish_reason: null }] }],
    ['', { ...piece, choices: [{ index: 0, delta: {}, finish_reason }], usage }],
  ];
}

/** Events that tell their type once more, inside. */
function typed(events: Events): Events {
  return events.map(([type, data]) => [type, { type, ...data }]);
}

function gemini(turn: Speech, modelVersion: string): Events {
  const { input, output, cacheRead = 0 } = turn.tokens ?? few;
  const parts = [
    ...saidIn(turn).map((text) => ({ text })),
    ...callsIn(turn).map(({ tool: name, input: args }) => ({ functionCall: { name, args } })),
  ];
  const usageMetadata = {
    promptTokenCount: input + cacheRead,
    cachedContentTokenCount: cacheRead,
    candidatesTokenCount: output,
    totalTokenCount: input + cacheRead + output,
  };
  const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }];
  return [['', { candidates, usageMetadata, modelVersion }]];
}
