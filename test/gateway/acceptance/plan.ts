/** The plan of a run: what each request asks for, what the provider answers, and what that costs. No code of `src/`. */

export type Api = 'messages' | 'chat' | 'responses' | 'gemini';

export interface PlannedRequest {
  readonly id: number;
  readonly api: Api;
  readonly isStream: boolean;
  readonly path: string;
  readonly body: string;
  /** Whether the provider reports usage if the answer ends well. */
  readonly reportsUsage: boolean;
  /** `drop`: the client leaves in the middle. Others are failures of the provider. */
  readonly ending: 'well' | 'drop' | 'status' | 'broken' | 'busy';
  readonly status: number;
  readonly tokens: Tokens;
  /** The tokens of each chunk of a stream. */
  readonly chunks: readonly number[];
  /** The chunk after which the client leaves or the provider breaks off. */
  readonly cutAfter: number;
}

/** The tokens of one call. `fresh`, `read`, `written` and `hour` are the parts of the input. */
export interface Tokens {
  readonly fresh: number;
  readonly read: number;
  readonly written: number;
  /** Written to a cache for an hour. */
  readonly hour: number;
  readonly output: number;
}

export const lettersPerToken = 4;
const bytesPerToken = 4.1;

export const models: Readonly<Record<Api, string>> = {
  messages: 'claude-sonnet-4-20250514',
  chat: 'gpt-4o',
  responses: 'gpt-4.1',
  gemini: 'gemini-2.5-flash',
};

/** Dollars per million tokens, from the lists of the providers. */
const prices: Readonly<Record<Api, Readonly<Record<keyof Tokens, number>>>> = {
  messages: { fresh: 3, read: 0.3, written: 3.75, hour: 6, output: 15 },
  chat: { fresh: 2.5, read: 1.25, written: 2.5, hour: 2.5, output: 10 },
  responses: { fresh: 2, read: 0.5, written: 2, hour: 2, output: 8 },
  gemini: { fresh: 0.3, read: 0.03, written: 0.3, hour: 0.3, output: 2.5 },
};

/** The cost of a call in millionths of a dollar, rounded up. */
export function countMicros(api: Api, tokens: Tokens): number {
  const rates = prices[api];
  let sum = 0;
  for (const part of ['fresh', 'read', 'written', 'hour', 'output'] as const)
    sum += Math.round(tokens[part] * rates[part] * 1_000);
  return Math.ceil(sum / 1_000);
}

export function countTokens({ fresh, read, written, hour, output }: Tokens): number {
  return fresh + read + written + hour + output;
}

/** Random numbers from 0 to 1 that are the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function planRequests(count: number): readonly PlannedRequest[] {
  const random = createRandom(7);
  return Array.from({ length: count }, (_, id) => planRequest(id, random));
}

function planRequest(id: number, random: () => number): PlannedRequest {
  const whole = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  const pick = <T>(list: readonly T[]): T => list[whole(0, list.length - 1)]!;
  const api = pick(['messages', 'chat', 'responses', 'gemini'] as const);
  const isStream = random() < 0.6;
  const asksForUsage = api !== 'chat' || !isStream || random() < 0.7;
  const prompt = `request ${id}: ${'some words of a prompt '.repeat(whole(2, 120))}`;
  const { path, body } = writeRequest(api, isStream, prompt, asksForUsage);
  const input = Math.round(Buffer.byteLength(body) / bytesPerToken);
  const read = random() < 0.3 ? whole(1, Math.floor(input / 2)) : 0;
  const written = api === 'messages' && random() < 0.3 ? whole(1, Math.floor(input / 4)) : 0;
  const hour = api === 'messages' && random() < 0.2 ? whole(1, Math.floor(input / 4)) : 0;
  const chunks = Array.from({ length: whole(1, 30) }, () => whole(1, 40));
  const luck = random();
  const failure = pick(['status', 'broken', 'busy'] as const);
  return {
    ...{ id, api, isStream, path, body, chunks, reportsUsage: asksForUsage },
    ending: luck < 0.1 ? 'drop' : luck < 0.15 ? failure : 'well',
    status: pick([400, 429, 500]),
    tokens: {
      ...{ fresh: input - read - written - hour, read, written, hour },
      output: chunks.reduce((sum, each) => sum + each, 0),
    },
    cutAfter: whole(1, chunks.length),
  };
}

function writeRequest(api: Api, isStream: boolean, prompt: string, asksForUsage: boolean) {
  const model = models[api];
  const messages = [{ role: 'user', content: prompt }];
  const stream = { ...(isStream && { stream: true }) };
  const options = { ...(isStream && asksForUsage && { stream_options: { include_usage: true } }) };
  const verb = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  const requests = {
    messages: { path: '/v1/messages', body: { model, max_tokens: 8_000, ...stream, messages } },
    chat: { path: '/v1/chat/completions', body: { model, ...stream, ...options, messages } },
    responses: { path: '/v1/responses', body: { model, input: prompt, ...stream } },
    gemini: {
      path: `/v1beta/models/${model}:${verb}`,
      body: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
    },
  };
  const { path, body } = requests[api];
  return { path, body: JSON.stringify(body) };
}
