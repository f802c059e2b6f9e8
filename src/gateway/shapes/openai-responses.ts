/** The Responses API of OpenAI. */

import { findLongUsage, type LongEvent, readLongType } from './long-event.ts';
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
  type MeteredTokens,
  mergeCounts,
  nameOpenAiError,
  nothingMetered,
  parseFields,
  type RequestFacts,
  readText,
  readWrittenInput,
  streamType,
} from './shape.ts';

export const openaiResponses: ApiShape = {
  name: 'openai-responses',
  provider: 'openai',
  noTools: { path: ['tool_choice'], value: 'none' },
  alwaysEnds: true,
  isModelCall: (path) => /\/v1\/responses(\/compact)?$/i.test(path),
  readRequest: (_, body) => ({
    model: readText(body.model) ?? '',
    isStream: body.stream === true,
    runsOn: body.background === true,
    maxOutput: findMaxOutput(body, [['max_output_tokens']]),
    outputPath: ['max_output_tokens'],
    hasTools: asItems(body.tools).length > 0,
  }),
  readHistory({ input }) {
    if (typeof input === 'string') return [{ type: 'user', text: input }];
    return asItems(input).flatMap((each, at) => readItem(asFields(each), at));
  },
  placeHint: (_, at, text) => ({
    path: ['input', at],
    as: 'next-item',
    value: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
  }),
  createReader: (request) => new ResponseReader(request),
  // Codex repeats a request that is answered by 402 five times, and one that is answered by 400 not at all.
  refuse: (message, code, status = 400) => ({
    status,
    contentType: jsonType,
    body: JSON.stringify({ error: { message, type: nameOpenAiError(status), param: null, code } }),
  }),
  close(text, request) {
    if (request.isStream)
      return { status: 200, contentType: streamType, body: new ResponseReader(request).endStream(text) };
    const response = { ...makeResponse(request.model), status: 'completed', output: [makeMessage(text)] };
    return { status: 200, contentType: jsonType, body: JSON.stringify(response) };
  },
};

function readItem(item: Fields, at: number): readonly HistoryItem[] {
  const { type = 'message', role, content, call_id: id, name } = item;
  if (type === 'message' && role === 'user') return [{ type: 'user', text: joinText(content) }];
  if (type === 'message' && role === 'assistant') return [{ type: 'assistant', text: joinText(content), calls: [] }];
  if (typeof type !== 'string' || typeof id !== 'string') return [];
  if (type.endsWith('_output')) return [{ type: 'result', id, output: item.output, at }];
  if (!type.endsWith('_call')) return [];
  const input = readWrittenInput(item.arguments ?? item.input ?? item.action);
  return [{ type: 'assistant', text: '', calls: [{ id, name: readText(name) ?? type, input }] }];
}

function countsOf({ inputTokens: input, outputTokens: output }: MeteredTokens): Fields {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

function makeResponse(model: string): Fields {
  const usage = countsOf(nothingMetered);
  return { id: 'resp_switchgear', object: 'response', created_at: 0, status: 'in_progress', model, output: [], usage };
}

function makeMessage(text: string) {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', id: 'msg_switchgear', role: 'assistant', status: 'completed', content };
}

class ResponseReader implements AnswerReader {
  usage: Fields | undefined;
  isUsageFinal = false;
  writtenLength = 0;
  model: string | undefined;
  isEnded = false;
  error: string | undefined;
  readonly #request: RequestFacts;
  #response: Fields | undefined;
  #sequence = -1;
  /** Complete output items, in order. */
  readonly #items: unknown[] = [];

  constructor(request: RequestFacts) {
    this.#request = request;
  }

  readEvent(data: string): void {
    const event = parseFields(data);
    const { type } = event;
    if (typeof event.sequence_number === 'number') this.#sequence = event.sequence_number;
    if (typeof type !== 'string') return;
    if (type.endsWith('.delta')) {
      this.isUsageFinal = false;
      this.writtenLength += countLetters(event.delta);
    } else if (type === 'response.output_item.done' && this.#items.length < itemsMax) this.#items.push(event.item);
    else if (type === 'response.created') {
      this.#response = asFields(event.response);
      this.model = readText(this.#response.model);
    } else if (type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed') {
      const response = asFields(event.response);
      this.model ??= readText(response.model);
      this.usage = mergeCounts(this.usage, response.usage);
      this.isUsageFinal = hasCounts(this.usage);
      this.isEnded = true;
      if (type === 'response.failed') this.error = readText(asFields(response.error).code) ?? 'error';
    } else if (type === 'error') {
      this.error = readText(event.code) ?? 'error';
      this.isEnded = true;
    }
  }

  readLongEvent(event: LongEvent): void {
    const type = readLongType(event);
    if (type.endsWith('.delta')) this.writtenLength += event.length;
    if (!/^response\.(completed|incomplete|failed)$/.test(type)) return;
    // It repeats the whole answer, whose letters are counted already.
    this.usage = mergeCounts(this.usage, findLongUsage(event, 'usage'));
    this.isUsageFinal = hasCounts(this.usage);
    this.isEnded = true;
    if (type === 'response.failed') this.error = 'error';
  }

  readWhole(answer: Fields): void {
    this.model = readText(answer.model);
    this.usage = mergeCounts(this.usage, answer.usage);
    this.isUsageFinal = hasCounts(this.usage);
    if (!this.isUsageFinal) this.writtenLength = countAllLetters(answer.output);
    this.isEnded = true;
  }

  endStream(text: string, metered = nothingMetered): string {
    if (this.isEnded) return '';
    this.isEnded = true;
    const events: string[] = [];
    const add = (type: string, fields: object) =>
      events.push(formatEvent({ type, sequence_number: ++this.#sequence, ...fields }, type));
    const response = this.#response ?? makeResponse(this.#request.model);
    if (this.#response === undefined) add('response.created', { response });
    const item = makeMessage(text);
    const index = this.#items.length;
    const place = { output_index: index, content_index: 0, item_id: item.id };
    add('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress', content: [] } });
    add('response.content_part.added', { ...place, part: { type: 'output_text', text: '', annotations: [] } });
    add('response.output_text.delta', { ...place, delta: text });
    add('response.output_text.done', { ...place, text });
    add('response.content_part.done', { ...place, part: item.content[0] });
    add('response.output_item.done', { output_index: index, item });
    const output = [...this.#items, item];
    const usage = this.usage ?? countsOf(metered);
    add('response.completed', { response: { ...response, status: 'completed', output, usage } });
    return events.join('');
  }
}

/** Output items that are kept for the last event of a stream that the gateway ends. */
const itemsMax = 1_000;
