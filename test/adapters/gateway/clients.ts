/** The official SDKs of three providers for four APIs, pointed at an address. */

import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { ApiName } from './provider.ts';

export interface Ask {
  readonly scene: string;
  readonly prompt?: string;
  /** A picture in base64. */
  readonly picture?: string;
  readonly signal?: AbortSignal;
  readonly model?: string;
  readonly retries?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for each part of a stream. */
  readonly onPart?: (part: unknown) => void;
}

export interface Client {
  /** The whole answer. */
  whole(base: string, ask: Ask): Promise<unknown>;
  /** All parts of a stream. */
  stream(base: string, ask: Ask): Promise<readonly unknown[]>;
}

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };

function headersOf({ scene, headers }: Ask): Record<string, string> {
  return { 'x-scene': scene, ...headers };
}

async function collect(parts: AsyncIterable<unknown>, { onPart }: Ask): Promise<readonly unknown[]> {
  const collected: unknown[] = [];
  for await (const part of parts) {
    onPart?.(part);
    collected.push(JSON.parse(JSON.stringify(part)));
  }
  return collected;
}

function anthropic(base: string, ask: Ask): Anthropic {
  return new Anthropic({
    ...{ apiKey: 'sk-test', authToken: null, baseURL: base, maxRetries: ask.retries ?? 0 },
    defaultHeaders: headersOf(ask),
  });
}

function messageParams({ prompt = 'Hello', picture, model = 'claude-sonnet' }: Ask) {
  const image = picture === undefined ? [] : [{ type: 'image' as const, source: pictureSource(picture) }];
  return {
    ...{ model, max_tokens: 500, tools: [{ name: 'weather', input_schema: parameters }] },
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: prompt }, ...image] }],
  };
}

function pictureSource(data: string) {
  return { type: 'base64' as const, media_type: 'image/png' as const, data };
}

function openai(base: string, ask: Ask): OpenAI {
  return new OpenAI({
    ...{ apiKey: 'sk-test', baseURL: `${base}/v1`, maxRetries: ask.retries ?? 0 },
    defaultHeaders: headersOf(ask),
  });
}

function chatParams({ prompt = 'Hello', picture, model = 'gpt-5' }: Ask) {
  const url = `data:image/png;base64,${picture}`;
  const image = picture === undefined ? [] : [{ type: 'image_url' as const, image_url: { url } }];
  return {
    ...{ model, tools: [{ type: 'function' as const, function: { name: 'weather', parameters } }] },
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: prompt }, ...image] }],
  };
}

function responseParams({ prompt = 'Hello', picture, model = 'gpt-5' }: Ask) {
  const url = `data:image/png;base64,${picture}`;
  const image =
    picture === undefined ? [] : [{ type: 'input_image' as const, image_url: url, detail: 'auto' as const }];
  return {
    ...{ model, tools: [{ type: 'function' as const, name: 'weather', parameters, strict: false }] },
    input: [{ role: 'user' as const, content: [{ type: 'input_text' as const, text: prompt }, ...image] }],
  };
}

function google(base: string, ask: Ask): GoogleGenAI {
  const retry = ask.retries === undefined ? {} : { retryOptions: { attempts: ask.retries + 1 } };
  return new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: base, headers: headersOf(ask), ...retry } });
}

function contentParams({ prompt = 'Hello', picture, model = 'gemini-2.5-pro', signal }: Ask) {
  const image = picture === undefined ? [] : [{ inlineData: { mimeType: 'image/png', data: picture } }];
  const tools = [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: parameters }] }];
  return {
    ...{ model, contents: [{ role: 'user', parts: [{ text: prompt }, ...image] }] },
    config: { tools, ...(signal && { abortSignal: signal }) },
  };
}

/** Options of a request in the SDKs that know them. */
function optionsOf({ signal }: Ask) {
  return signal === undefined ? {} : { signal };
}

export const clients: Readonly<Record<ApiName, Client>> = {
  messages: {
    whole: (base, ask) => anthropic(base, ask).messages.create(messageParams(ask), optionsOf(ask)),
    stream: async (base, ask) =>
      collect(await anthropic(base, ask).messages.create({ ...messageParams(ask), stream: true }, optionsOf(ask)), ask),
  },
  chat: {
    whole: (base, ask) => openai(base, ask).chat.completions.create(chatParams(ask), optionsOf(ask)),
    stream: async (base, ask) => {
      const params = { ...chatParams(ask), stream: true as const, stream_options: { include_usage: true } };
      return collect(await openai(base, ask).chat.completions.create(params, optionsOf(ask)), ask);
    },
  },
  responses: {
    whole: (base, ask) => openai(base, ask).responses.create(responseParams(ask), optionsOf(ask)),
    stream: async (base, ask) =>
      collect(await openai(base, ask).responses.create({ ...responseParams(ask), stream: true }, optionsOf(ask)), ask),
  },
  gemini: {
    whole: (base, ask) => google(base, ask).models.generateContent(contentParams(ask)),
    stream: async (base, ask) => collect(await google(base, ask).models.generateContentStream(contentParams(ask)), ask),
  },
};

/** What a call threw: its class, status, code and words. */
export async function catchError(call: Promise<unknown>): Promise<Readonly<Record<string, unknown>>> {
  try {
    await call;
  } catch (error) {
    const { status, message, code, type, headers, requestID } = error as Record<string, unknown>;
    const read = (name: string) => (headers instanceof Headers ? headers.get(name) : undefined);
    return {
      ...{ class: (error as Error).constructor.name, status, message, code, type, requestID },
      retryAfter: read('retry-after'),
      limit: read('anthropic-ratelimit-requests-remaining'),
    };
  }
  throw new Error('the call did not fail');
}
