/** The `generateContent` methods of the Gemini API. */

import { findLongUsage, type LongEvent } from './long-event.ts';
import {
  type AnswerReader,
  type ApiShape,
  asFields,
  asItems,
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
  nothingMetered,
  parseFields,
  type RequestFacts,
  readText,
  streamType,
} from './shape.ts';

const method = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/i;

/** Google reads every name in both spellings. */
const configNames = ['generationConfig', 'generation_config'];
const limitNames = ['maxOutputTokens', 'max_output_tokens'];

/** The names of errors by status. */
const errorStatuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
};

export const geminiContent: ApiShape = {
  name: 'gemini',
  provider: 'gemini',
  noTools: { path: ['toolConfig'], value: { functionCallingConfig: { mode: 'NONE' } } },
  alwaysEnds: false,
  isModelCall: (path) => method.test(path),
  readRequest(url, body) {
    const [path = '', query = ''] = url.split('?', 2);
    const [, model = '', verb] = method.exec(path) ?? [];
    const configs = configNames.map((name) => asFields(body[name]));
    const answers = countAnswers(...configs.flatMap((each) => [each.candidateCount, each.candidate_count]));
    const paths = configNames.flatMap((name) => limitNames.map((limit) => [name, limit]));
    return {
      model,
      // Without events the chunks are parts of one array, which cannot be cut.
      isStream: verb?.toLowerCase() === 'streamgeneratecontent' && /(?:^|&)(?:\$|%24)?alt=sse(?:&|$)/i.test(query),
      answers,
      maxOutput: findMaxOutput(body, paths, answers),
      outputPath: ['generationConfig', 'maxOutputTokens'],
      hasTools: asItems(body.tools).length > 0,
    };
  },
  readHistory: (body) => asItems(body.contents).flatMap((each, at) => readContent(asFields(each), at)),
  placeHint: (_, at, text) => ({ path: ['contents', at, 'parts'], as: 'last-item', value: { text } }),
  createReader: (request) => new ContentReader(request),
  refuse(message, code, status = 402) {
    const error = {
      code: status,
      message,
      status: errorStatuses[status] ?? 'UNAVAILABLE',
      details: [{ reason: code }],
    };
    return { status, contentType: jsonType, body: JSON.stringify({ error }) };
  },
  close(text, request) {
    if (request.isStream)
      return { status: 200, contentType: streamType, body: new ContentReader(request).endStream(text) };
    return {
      status: 200,
      contentType: jsonType,
      body: JSON.stringify(makeClosing(text, request.model, countsOf(nothingMetered))),
    };
  },
};

function readContent({ role, parts }: Fields, at: number): readonly HistoryItem[] {
  const read = asItems(parts).map(asFields);
  if (role === 'model') {
    const calls = read
      .filter(({ functionCall }) => functionCall !== undefined)
      .map((each) => asFields(each.functionCall));
    const named = calls.map(({ id, name, args }) => ({ id: readText(id), name: readText(name) ?? '', input: args }));
    return [{ type: 'assistant', text: joinText(parts), calls: named }];
  }
  const results = read.filter(({ functionResponse }) => functionResponse !== undefined);
  if (results.length === 0) return [{ type: 'user', text: joinText(parts) }];
  return results.map((each) => {
    const { id, name, response } = asFields(each.functionResponse);
    const own = { id: readText(id), name: readText(name), at };
    return { type: 'result', ...own, ...readResponse(asFields(response)) };
  });
}

/** The result of a call. Gemini CLI writes the exit code of a command into its output, and a process id. */
function readResponse(response: Fields): { readonly output: unknown; readonly ok?: boolean } {
  const output = readText(response.output)?.replace(/^Process Group PGID: .*$/m, '');
  const hasFailed = response.error !== undefined || /^Exit Code: (?!0$)-?\d+$/m.test(output ?? '');
  return { output: output === undefined ? response : { ...response, output }, ...(hasFailed && { ok: false }) };
}

function countsOf({ inputTokens: input, outputTokens: output }: MeteredTokens): Fields {
  return { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output };
}

function makeClosing(text: string, model: string, usage: Fields) {
  return {
    candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: usage,
    modelVersion: model,
  };
}

class ContentReader implements AnswerReader {
  usage: Fields | undefined;
  isUsageFinal = false;
  writtenLength = 0;
  model: string | undefined;
  isEnded = false;
  error: string | undefined;
  readonly #request: RequestFacts;

  constructor(request: RequestFacts) {
    this.#request = request;
  }

  readEvent(data: string): void {
    this.#read(parseFields(data));
  }

  readWhole(answer: Fields): void {
    this.#read(answer);
    this.isUsageFinal = hasCounts(this.usage);
    this.isEnded = true;
  }

  readLongEvent(event: LongEvent): void {
    const usage = findLongUsage(event, 'usageMetadata');
    if (usage === undefined) this.writtenLength += event.length;
    this.usage = mergeCounts(this.usage, usage);
    if (!/"finishReason"\s*:\s*"/.test(event.tail)) return;
    this.isEnded = true;
    this.isUsageFinal = usage !== undefined && hasCounts(this.usage);
  }

  #read(chunk: Fields): void {
    if (chunk.error !== undefined) {
      this.error = readText(asFields(chunk.error).status) ?? 'error';
      return;
    }
    this.model ??= readText(chunk.modelVersion);
    // Each chunk has the counts so far.
    this.usage = mergeCounts(this.usage, chunk.usageMetadata);
    for (const each of asItems(chunk.candidates)) this.#readCandidate(asFields(each), chunk);
  }

  #readCandidate({ finishReason, content }: Fields, { usageMetadata }: Fields): void {
    for (const part of asItems(asFields(content).parts)) {
      const { text, functionCall } = asFields(part);
      this.isUsageFinal = false; // Counts from before are not those of this part.
      this.writtenLength += countLetters(text);
      if (functionCall !== undefined) this.writtenLength += JSON.stringify(functionCall).length;
    }
    if (typeof finishReason !== 'string') return;
    this.isEnded = true;
    this.isUsageFinal = usageMetadata !== undefined && hasCounts(this.usage);
  }

  endStream(text: string, metered = nothingMetered): string {
    if (this.isEnded) return '';
    this.isEnded = true;
    return formatEvent(makeClosing(text, this.model ?? this.#request.model, this.usage ?? countsOf(metered)));
  }
}
