/** A mock of the four APIs of providers. The header `x-scene` of a request says what it answers. */

import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { Received } from '../../gateway/harness.ts';

export type ApiName = 'messages' | 'chat' | 'responses' | 'gemini';

/** How one API says things. */
interface Wording {
  readonly whole: (scene: 'text' | 'tool') => object;
  /** The events of a stream, each complete. */
  readonly stream: (scene: 'text' | 'tool') => readonly string[];
  readonly error: (status: number) => object;
}

const named = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const plain = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const words = ['Ünï', 'code ', '🚦 ', 'and ', 'text', '.'];
const args = '{"city":"Zürich","days":3}';

const message = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_sequence: null },
  usage: { input_tokens: 12, output_tokens: 7, cache_read_input_tokens: 3 },
};

const messages: Wording = {
  whole: (scene) => ({
    ...message,
    content:
      scene === 'text'
        ? [{ type: 'text', text: words.join('') }]
        : [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: JSON.parse(args) }],
    stop_reason: scene === 'text' ? 'end_turn' : 'tool_use',
  }),
  stream: (scene) => {
    const block =
      scene === 'text' ? { type: 'text', text: '' } : { type: 'tool_use', id: 't', name: 'weather', input: {} };
    const deltas =
      scene === 'text'
        ? words.map((text) => ({ type: 'text_delta', text }))
        : [args.slice(0, 8), args.slice(8)].map((json) => ({ type: 'input_json_delta', partial_json: json }));
    return [
      named('message_start', { message: { ...message, content: [], stop_reason: null } }),
      named('content_block_start', { index: 0, content_block: block }),
      named('ping', {}),
      ...deltas.map((delta) => named('content_block_delta', { index: 0, delta })),
      named('content_block_stop', { index: 0 }),
      named('message_delta', {
        delta: { stop_reason: scene === 'text' ? 'end_turn' : 'tool_use', stop_sequence: null },
        usage: { output_tokens: 7 },
      }),
      named('message_stop', {}),
    ];
  },
  error: (status) => ({ type: 'error', error: { type: 'an_error', message: `status ${status}` }, request_id: 'req_7' }),
};

const chatHead = { id: 'chatcmpl-1', created: 1, model: 'gpt-5' };
const chatUsage = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 };
const chatCall = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: args } };

const chat: Wording = {
  whole: (scene) => ({
    ...{ ...chatHead, object: 'chat.completion', usage: chatUsage },
    choices: [
      {
        ...{ index: 0, logprobs: null, finish_reason: scene === 'text' ? 'stop' : 'tool_calls' },
        message:
          scene === 'text'
            ? { role: 'assistant', content: words.join(''), refusal: null }
            : { role: 'assistant', content: null, refusal: null, tool_calls: [chatCall] },
      },
    ],
  }),
  stream: (scene) => {
    const deltas: object[] =
      scene === 'text'
        ? words.map((content) => ({ content }))
        : [
            { tool_calls: [{ index: 0, ...chatCall, function: { name: 'weather', arguments: '' } }] },
            { tool_calls: [{ index: 0, function: { arguments: args } }] },
          ];
    const chunk = (delta: object, reason: string | null) =>
      plain({
        ...{ ...chatHead, object: 'chat.completion.chunk', usage: null },
        choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      });
    return [
      chunk({ role: 'assistant', content: scene === 'text' ? '' : null }, null),
      ...deltas.map((delta) => chunk(delta, null)),
      chunk({}, scene === 'text' ? 'stop' : 'tool_calls'),
      plain({ ...chatHead, object: 'chat.completion.chunk', choices: [], usage: chatUsage }),
      'data: [DONE]\n\n',
    ];
  },
  error: (status) => ({ error: { message: `status ${status}`, type: 'an_error', param: null, code: 'some_code' } }),
};

const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', error: null, metadata: {} };
const responseUsage = { input_tokens: 12, output_tokens: 7, total_tokens: 19 };

function outputItem(scene: 'text' | 'tool'): object {
  if (scene === 'tool')
    return {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'weather',
      arguments: args,
      status: 'completed',
    };
  const content = [{ type: 'output_text', text: words.join(''), annotations: [] }];
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
}

const responses: Wording = {
  whole: (scene) => ({ ...response, status: 'completed', output: [outputItem(scene)], usage: responseUsage }),
  stream: (scene) => {
    let sequence = 0;
    const event = (type: string, fields: object) => named(type, { sequence_number: sequence++, ...fields });
    const place = { output_index: 0, content_index: 0, item_id: scene === 'text' ? 'msg_1' : 'fc_1' };
    const item = outputItem(scene);
    const begun = { ...item, status: 'in_progress', ...(scene === 'text' ? { content: [] } : { arguments: '' }) };
    const part = { type: 'output_text', text: '', annotations: [] };
    return [
      event('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } }),
      event('response.output_item.added', { output_index: 0, item: begun }),
      ...(scene === 'text'
        ? [
            event('response.content_part.added', { ...place, part }),
            ...words.map((delta) => event('response.output_text.delta', { ...place, delta })),
            event('response.output_text.done', { ...place, text: words.join('') }),
          ]
        : [event('response.function_call_arguments.delta', { ...place, delta: args })]),
      event('response.output_item.done', { output_index: 0, item }),
      event('response.completed', {
        response: { ...response, status: 'completed', output: [item], usage: responseUsage },
      }),
    ];
  },
  error: chat.error,
};

const geminiUsage = { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 };

function candidate(parts: readonly object[], isLast: boolean): object {
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...(isLast && { finishReason: 'STOP' }) }],
    ...{ usageMetadata: geminiUsage, modelVersion: 'gemini-2.5-pro', responseId: 'r1' },
  };
}

const geminiCall = { functionCall: { id: 'f1', name: 'weather', args: JSON.parse(args) as unknown } };

const gemini: Wording = {
  whole: (scene) => candidate(scene === 'text' ? [{ text: words.join('') }] : [geminiCall], true),
  // The API separates events by carriage returns, too.
  stream: (scene) =>
    (scene === 'text' ? words.map((text) => ({ text })) : [{ text: 'so' }, geminiCall]).map((part, at, all) =>
      plain(candidate([part], at === all.length - 1)).replaceAll('\n', '\r\n'),
    ),
  error: (status) => ({ error: { code: status, message: `status ${status}`, status: 'SOME_STATUS' } }),
};

export const wordings: Readonly<Record<ApiName, Wording>> = { messages, chat, responses, gemini };

export function apiOf(url: string): ApiName {
  if (url.includes('/messages')) return 'messages';
  if (url.includes('/chat/completions')) return 'chat';
  return url.includes('/responses') ? 'responses' : 'gemini';
}

/** Headers of providers that clients read. */
const answerHeaders = {
  date: 'Mon, 16 Nov 2026 10:00:00 GMT',
  'request-id': 'req_7',
  'x-request-id': 'req_7',
  'anthropic-ratelimit-requests-remaining': '99',
  'x-ratelimit-remaining-tokens': '5000',
  'openai-processing-ms': '12',
  'set-cookie': ['a=1', 'b=2'],
};

/**
 * Answers a request by its scene: `text` and `tool`; `cut`, a stream that breaks off; `reset`, a connection that
 * breaks before the answer; `hang`, a stream that stops after its first events; or a status.
 */
export async function answer(received: Received, to: ServerResponse): Promise<void> {
  const wording = wordings[apiOf(received.url)];
  const scene = String(received.headers['x-scene'] ?? 'text');
  const isStream = received.url.includes(':streamGenerateContent') || /"stream":\s*true/.test(received.body);
  if (scene === 'reset') to.destroy();
  else if (/^\d+$/.test(scene)) {
    const extra = scene === '429' ? { 'retry-after': '30' } : {};
    to.writeHead(Number(scene), { 'content-type': 'application/json', ...answerHeaders, ...extra });
    to.end(JSON.stringify(wording.error(Number(scene))));
  } else if (!isStream) {
    to.writeHead(200, { 'content-type': 'application/json; charset=utf-8', ...answerHeaders });
    const body = JSON.stringify(wording.whole(scene === 'tool' ? 'tool' : 'text'), undefined, 1);
    if (scene === 'cut') {
      to.write(body.slice(0, 40));
      await turn();
      to.destroy();
    } else to.end(body);
  } else {
    to.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...answerHeaders });
    const events = wording.stream(scene === 'tool' ? 'tool' : 'text');
    for (const each of events.slice(0, scene === 'cut' || scene === 'hang' ? 4 : events.length)) {
      // An event comes in two pieces, split within a letter of several bytes where it has one.
      const bytes = Buffer.from(each);
      const middle = Math.max(1, bytes.findIndex((byte) => byte > 0x7f) + 1);
      to.write(bytes.subarray(0, middle));
      await turn();
      to.write(bytes.subarray(middle));
    }
    if (scene === 'cut') to.destroy();
    else if (scene !== 'hang') to.end();
  }
}
