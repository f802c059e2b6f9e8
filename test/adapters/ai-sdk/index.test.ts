/** The AI SDK in both versions, generating and streaming. */

import * as ai7 from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import * as ai6 from 'ai-v6';
import { MockLanguageModelV3 } from 'ai-v6/test';
import { adapterSuite } from 'switchgear/testing';
import { z } from 'zod';
import {
  aiSdkHarness,
  type ModelParams,
  makeEndlessParts,
  makeStreamParts,
  type ScriptedAnswer,
  type Sdk,
  type SdkResult,
} from './harness.ts';

const inputSchema = z.record(z.string(), z.unknown());

type Answer = (params: ModelParams) => Promise<ScriptedAnswer>;

/** The mock's own options take typed results; scenes make theirs from a script. */
function mock<M extends object>(make: new (options: never) => M, answer: Answer): M {
  return new make({
    doGenerate: async (params: ModelParams) => answer(params),
    doStream: async (params: ModelParams) => {
      const { chunks, ...whole } = await answer(params);
      if (chunks !== undefined) return { stream: ReadableStream.from(makeEndlessParts(chunks)) };
      return { stream: ai7.simulateReadableStream({ chunks: makeStreamParts(whole) }) };
    },
  } as never);
}

/** What differs between the versions is in the types alone. */
type Loose = { generateText(call: unknown): Promise<SdkResult>; streamText(call: unknown): Streaming };
type Streaming = { readonly [K in keyof SdkResult]: PromiseLike<SdkResult[K]> };

async function generate(sdk: unknown, { mode, ...call }: Record<string, unknown>): Promise<SdkResult> {
  const { generateText, streamText } = sdk as Loose;
  if (mode === 'generate') return generateText(call);
  let failed: unknown;
  const onError = ({ error }: { error: unknown }) => {
    failed ??= error;
  };
  const streaming = streamText({ ...call, onError });
  const { text, content, providerMetadata, response } = streaming;
  try {
    const [said, parts, metadata, { messages }] = await Promise.all([text, content, providerMetadata, response]);
    return { text: said, content: parts, providerMetadata: metadata, response: { messages } };
  } catch (error) {
    throw failed ?? error;
  }
}

const seven: Sdk = {
  specification: 'v4',
  makeModel: (answer) => mock(MockLanguageModelV4, answer),
  makeTool: (_, execute) => ai7.tool({ inputSchema, execute: execute as never }),
  generate: (call) => generate(ai7, call),
  steps: (max) => ai7.isStepCount(max),
};

const six: Sdk = {
  specification: 'v3',
  makeModel: (answer) => mock(MockLanguageModelV3, answer),
  makeTool: (_, execute) => ai6.tool({ inputSchema, execute: execute as never }),
  generate: (call) => generate(ai6, call),
  steps: (max) => ai6.stepCountIs(max),
};

for (const mode of ['generate', 'stream'] as const) {
  adapterSuite(aiSdkHarness('AI SDK 7', seven, mode));
  adapterSuite(aiSdkHarness('AI SDK 6', six, mode));
}
