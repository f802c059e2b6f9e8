/** The Chat Completions API of OpenAI, which many other providers have too. */

import { findLongUsage, type LongEvent } from './long-event.ts';
import {
  type AnswerReader,
  type ApiShape,
  asFields,
  asItems,
  countAllLetters,
  countAnswers,
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

export const openaiChat: ApiShape = {
  name: 'openai-chat',
  provider: 'openai',
  noTools: { path: ['tool_choice'], value: 'none' },
  alwaysEnds: false,
  isModelCall: (path) => /\/(chat\/completions|completions|embeddings)$/i.test(path),
  readRequest(url, body) {
    const answers = countAnswers(body.n, body.best_of);
    return {
      model: readText(body.model) ?? '',
      isStream: body.stream === true,
      answers,
      maxOutput: findMaxOutput(body, [['max_completion_tokens'], ['max_tokens']], answers),
      // Other paths of this shape have answers that are short, or no such limit.
      outputPath: /\/chat\/completions$/i.test(url.split('?', 1)[0]!) ? ['max_completion_tokens'] : undefined,
      hasTools: asItems(body.tools).length > 0 || asItems(body.functions).length > 0,
      asksForUsage: asFields(body.stream_options).include_usage === true,
    };
  },
  readHistory: (body) => asItems(body.messages).flatMap((each, at) => readMessage(asFields(each), at)),
  // Some providers of this API allow no message of a user behind a result, so the hint is a part of the result.
  placeHint(body, at, text) {
    const path = ['messages', at, 'content'];
    const { content } = asFields(asItems(body.messages)[at]);
    if (typeof content === 'string') return { path, as: 'end-of-text', value: `\n\n${text}` };
    return Array.isArray(content) ? { path, as: 'last-item', value: { type: 'text', text } } : undefined;
  },
  createReader: (request) => new CompletionReader(request),
  refuse: (message, code, status = 402) => ({
    status,
    contentType: jsonType,
    body: JSON.stringify({ error: { message, type: nameOpenAiError(status), param: null, code } }),
  }),
  close(text, request) {
    if (request.isStream)
      return { status: 200, contentType: streamType, body: new CompletionReader(request).endStream(text) };
    const choice = { index: 0, message: { role: 'assistant', content: text }, logprobs: null, finish_reason: 'stop' };
    const usage = countsOf(nothingMetered);
    const body = { ...makeHead('chat.completion', request.model), choices: [choice], usage };
    return { status: 200, contentType: jsonType, body: JSON.stringify(body) };
  },
};

function readMessage(message: Fields, at: number): readonly HistoryItem[] {
  const { role, content, tool_calls: calls, tool_call_id: id } = message;
  if (role === 'tool') return [{ type: 'result', id: readText(id), output: content, at }];
  if (role === 'user') return [{ type: 'user', text: joinText(content) }];
  if (role !== 'assistant') return [];
  const read = asItems(calls).map((each) => {
    const call = asFields(each);
    const { name, arguments: args } = asFields(call.function);
    return { id: readText(call.id), name: readText(name) ?? '', input: readWrittenInput(args) };
  });
  return [{ type: 'assistant', text: joinText(content), calls: read }];
}

function countsOf({ inputTokens: input, outputTokens: output }: MeteredTokens): Fields {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function makeHead(object: string, model: string) {
  return { id: 'chatcmpl-switchgear', object, created: 0, model };
}

/** The fields of a chunk that every chunk of its stream has. */
function readHead({ choices: _, usage: __, ...head }: Fields): Fields {
  return head;
}

class CompletionReader implements AnswerReader {
  usage: Fields | undefined;
  isUsageFinal = false;
  writtenLength = 0;
  model: string | undefined;
  isEnded = false;
  error: string | undefined;
  readonly #request: RequestFacts;
  /** The fields that every chunk of the stream repeats. */
  #head: Fields | undefined;
  #hasFinished = false;

  constructor(request: RequestFacts) {
    this.#request = request;
  }

  readEvent(data: string): void {
    if (data === '[DONE]') {
      this.isEnded = true;
      return;
    }
    const chunk = parseFields(data);
    if (chunk.error !== undefined) {
      const { type, code } = asFields(chunk.error);
      this.error = readText(type) ?? readText(code) ?? 'error';
      return;
    }
    const { choices, usage } = chunk;
    this.#head ??= readHead(chunk);
    this.model ??= readText(chunk.model);
    const before = this.writtenLength;
    for (const each of asItems(choices)) this.#readChoice(asFields(each));
    // Some providers report usage with every chunk, and some at the beginning.
    if (this.writtenLength > before) this.isUsageFinal = false;
    if (usage === undefined || usage === null) return;
    this.usage = mergeCounts(this.usage, usage);
    this.isUsageFinal = hasCounts(this.usage);
  }

  #readChoice(choice: Fields): void {
    if (typeof choice.finish_reason === 'string') this.#hasFinished = true;
    const { content, reasoning, reasoning_content: thoughts, refusal, tool_calls: calls } = asFields(choice.delta);
    this.writtenLength +=
      countLetters(choice.text) + countLetters(content) + countLetters(reasoning) + countLetters(thoughts);
    this.writtenLength += countLetters(refusal);
    for (const each of asItems(calls)) {
      const { name, arguments: args } = asFields(asFields(each).function);
      this.writtenLength += countLetters(name) + countLetters(args);
    }
  }

  readLongEvent(event: LongEvent): void {
    const usage = findLongUsage(event, 'usage');
    if (usage === undefined) this.writtenLength += event.length;
    this.usage = mergeCounts(this.usage, usage);
    this.isUsageFinal = usage !== undefined && hasCounts(this.usage);
  }

  readWhole(answer: Fields): void {
    this.model = readText(answer.model);
    this.usage = mergeCounts(this.usage, answer.usage);
    this.isUsageFinal = hasCounts(this.usage);
    if (!this.isUsageFinal) this.writtenLength = countAllLetters(answer.choices);
    this.isEnded = true;
  }

  endStream(text: string, metered = nothingMetered): string {
    if (this.isEnded) return '';
    this.isEnded = true;
    const head = this.#head ?? makeHead('chat.completion.chunk', this.#request.model);
    const chunk = (delta: object, reason: string | null) =>
      formatEvent({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
    const closing = this.#hasFinished
      ? ''
      : chunk({ ...(this.#head === undefined && { role: 'assistant' }), content: text }, null) + chunk({}, 'stop');
    const hasUsage = this.usage !== undefined || this.#request.asksForUsage !== true;
    const usage = hasUsage ? '' : formatEvent({ ...head, choices: [], usage: countsOf(metered) });
    return `${closing}${usage}${formatEvent('[DONE]')}`;
  }
}
