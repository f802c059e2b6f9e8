/** The Messages API of Anthropic. */

import type { LongEvent } from './long-event.ts';
import {
  type AnswerReader,
  type ApiShape,
  asFields,
  asItems,
  countAllLetters,
  countLetters,
  type Fields,
  findMaxOutput,
  formatEvent,
  type HistoryItem,
  hasCounts,
  joinText,
  jsonType,
  mergeCounts,
  nothingMetered,
  parseFields,
  type RequestFacts,
  readText,
  streamType,
} from './shape.ts';

/** The types of errors by status. */
const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
};

export const anthropic: ApiShape = {
  name: 'anthropic',
  provider: 'anthropic',
  noTools: { path: ['tool_choice'], value: { type: 'none' } },
  alwaysEnds: true,
  isModelCall: (path) => /^\/v1\/messages$/i.test(path),
  readRequest: (_, body) => ({
    model: readText(body.model) ?? '',
    isStream: body.stream === true,
    maxOutput: findMaxOutput(body, [['max_tokens']]),
    minOutput: readBudget(body.thinking),
    outputPath: ['max_tokens'],
    hasTools: asItems(body.tools).length > 0,
  }),
  readHistory: (body) => asItems(body.messages).flatMap((each, at) => readMessage(asFields(each), at)),
  // Texts of a message stand behind its results.
  placeHint: (_, at, text) => ({ path: ['messages', at, 'content'], as: 'last-item', value: { type: 'text', text } }),
  createReader: (request) => new MessageReader(request),
  refuse: (message, code, status = 402) => ({
    status,
    contentType: jsonType,
    body: JSON.stringify({ type: 'error', error: { type: errorTypes[status] ?? 'api_error', message, code } }),
  }),
  close(text, request) {
    if (request.isStream)
      return { status: 200, contentType: streamType, body: new MessageReader(request).endStream(text) };
    const message = { ...emptyMessage(request.model), content: [{ type: 'text', text }], stop_reason: 'end_turn' };
    return { status: 200, contentType: jsonType, body: JSON.stringify(message) };
  },
};

/** The limit of an answer must be higher than the tokens of its reasoning. */
function readBudget(thinking: unknown): number | undefined {
  const { budget_tokens: tokens } = asFields(thinking);
  return typeof tokens === 'number' && tokens > 0 ? tokens + 1_000 : undefined;
}

function readMessage({ role, content }: Fields, at: number): readonly HistoryItem[] {
  const blocks = asItems(content).map(asFields);
  if (role === 'assistant') {
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    const read = calls.map(({ id, name, input }) => ({ id: readText(id), name: readText(name) ?? '', input }));
    return [{ type: 'assistant', text: joinText(content), calls: read }];
  }
  // Claude Code puts reminders of its own between the messages: no prompts of a person.
  if (role === 'system') return [];
  const results = blocks.filter(({ type }) => type === 'tool_result');
  // A text beside results is a note of the client.
  if (results.length === 0) return [{ type: 'user', text: joinText(content) }];
  return results.map(({ tool_use_id: id, content: output, is_error: failed }) => ({
    ...{ type: 'result', id: readText(id), output, ok: failed !== true, at },
  }));
}

function emptyMessage(model: string) {
  return {
    id: 'msg_switchgear',
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null as string | null,
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  };
}

class MessageReader implements AnswerReader {
  usage: Fields | undefined;
  isUsageFinal = false;
  writtenLength = 0;
  model: string | undefined;
  isEnded = false;
  error: string | undefined;
  readonly #request: RequestFacts;
  #isStarted = false;
  /** The content block that is being written; -1 = none. */
  #openBlock = -1;
  #blocks = 0;

  constructor(request: RequestFacts) {
    this.#request = request;
  }

  readEvent(data: string): void {
    const event = parseFields(data);
    switch (event.type) {
      case 'message_start': {
        const message = asFields(event.message);
        this.#isStarted = true;
        this.model = readText(message.model);
        this.usage = mergeCounts(this.usage, message.usage);
        return;
      }
      case 'content_block_start': {
        this.#openBlock = typeof event.index === 'number' ? event.index : this.#blocks;
        this.#blocks = Math.max(this.#blocks, this.#openBlock + 1);
        const block = asFields(event.content_block);
        this.writtenLength += countLetters(block.name) + countLetters(block.text);
        return;
      }
      case 'content_block_delta': {
        const { text, partial_json: json, thinking } = asFields(event.delta);
        this.writtenLength += countLetters(text) + countLetters(json) + countLetters(thinking);
        this.isUsageFinal = false;
        return;
      }
      case 'content_block_stop':
        this.#openBlock = -1;
        return;
      case 'message_delta':
        this.usage = mergeCounts(this.usage, event.usage);
        this.isUsageFinal ||= hasCounts(asFields(event.usage));
        return;
      case 'message_stop':
        this.isEnded = true;
        return;
      case 'error':
        this.error = readText(asFields(event.error).type) ?? 'error';
        return;
      default: // `ping`, and what is not known yet.
    }
  }

  readLongEvent({ length }: LongEvent): void {
    this.isUsageFinal = false;
    this.writtenLength += length; // Events with counts are short.
  }

  readWhole(answer: Fields): void {
    this.model = readText(answer.model);
    this.usage = mergeCounts(this.usage, answer.usage);
    this.isUsageFinal = hasCounts(this.usage);
    if (!this.isUsageFinal) this.writtenLength = countAllLetters(answer.content);
    this.isEnded = true;
  }

  endStream(text: string, metered = nothingMetered): string {
    if (this.isEnded) return '';
    this.isEnded = true;
    const events: string[] = [];
    const add = (type: string, fields: object) => events.push(formatEvent({ type, ...fields }, type));
    if (!this.#isStarted) add('message_start', { message: emptyMessage(this.#request.model) });
    if (this.#openBlock >= 0) add('content_block_stop', { index: this.#openBlock });
    const index = this.#blocks;
    add('content_block_start', { index, content_block: { type: 'text', text: '' } });
    add('content_block_delta', { index, delta: { type: 'text_delta', text } });
    add('content_block_stop', { index });
    const usage = { output_tokens: metered.outputTokens };
    add('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });
    add('message_stop', {});
    return events.join('');
  }
}
