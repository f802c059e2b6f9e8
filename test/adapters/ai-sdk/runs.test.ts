/** Runs of the AI SDK on one `protect`, as a server has them: side by side, tried again, steered, step by step. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APICallError, generateText, isStepCount, streamText, tool } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/ai-sdk';
import { z } from 'zod';
import { type ModelParams, makeAnswer, makeStreamParts } from './harness.ts';

const inputSchema = z.looseObject({});
const quiet = { log: 'silent', env: {} } as const;

/** Reads as many pages as the prompt says at its beginning, each under an id that no other call has. */
function reader() {
  let calls = 0;
  const next = ({ prompt }: ModelParams) => {
    const [wanted] = prompt.filter(({ role }) => role === 'user').map(({ content }) => JSON.stringify(content));
    const read = prompt.filter(({ role }) => role === 'tool').length;
    const isDone = read >= Number(/\d+/.exec(wanted ?? '')?.[0]);
    return makeAnswer(isDone ? { text: 'Done.' } : { calls: [{ tool: 'read', input: { page: read } }] }, ++calls);
  };
  return new MockLanguageModelV4({
    doGenerate: async (params) => next(params as never) as never,
    doStream: async (params) =>
      ({ stream: simulateReadableStream({ chunks: makeStreamParts(next(params as never)) }) }) as never,
  });
}

const tools = { read: tool({ inputSchema, execute: async ({ page }) => `page ${page}` }) };
const stopWhen = isStepCount(60);

test('concurrent runs of one protected call have separate tasks, and a halt affects one run only', async () => {
  const gear = createSwitchgear({ ...quiet, policy: { task: { max_tool_calls: 4 } } });
  const guarded = protect({ model: reader(), tools }, { gear });
  const generated = await Promise.all(
    ['Read 3.', 'Read 30.', 'Read 4.'].map((prompt) => generateText({ ...guarded, prompt, stopWhen })),
  );
  assert.deepEqual(
    generated.map(({ providerMetadata }) => providerMetadata?.switchgear?.code),
    [undefined, 'tool_call_limit', undefined],
  );
  const streamed = ['Read 4.', 'Read 30.'].map((prompt) => streamText({ ...guarded, prompt, stopWhen }));
  const metadata = await Promise.all(streamed.map(({ providerMetadata }) => providerMetadata));
  assert.deepEqual(
    metadata.map((each) => each?.switchgear?.code),
    [undefined, 'tool_call_limit'],
  );
  assert.equal(gear.snapshot().tasks.length, 0);
});

test('a model call that the SDK retries belongs to the same run', async () => {
  const gear = createSwitchgear(quiet);
  const model = reader();
  const answer = model.doGenerate;
  let failures = 2;
  model.doGenerate = async (params) => {
    if (failures-- <= 0) return answer(params);
    const responseHeaders = { 'retry-after-ms': '1' };
    throw new APICallError({ message: 'busy', url: '', requestBodyValues: {}, statusCode: 503, responseHeaders });
  };
  const tasks: number[] = [];
  const counting = { read: tool({ inputSchema, execute: () => tasks.push(gear.snapshot().tasks.length) }) };
  await generateText({ ...protect({ model, tools: counting }, { gear }), prompt: 'Read 1.', stopWhen, maxRetries: 2 });
  assert.deepEqual(tasks, [1]);
});

test('a run that gets a new user message stays the same run', async () => {
  const gear = createSwitchgear({ ...quiet, policy: { task: { max_tool_calls: 4 } } });
  const guarded = protect({ model: reader(), tools }, { gear });
  const { providerMetadata } = await generateText({
    ...guarded,
    prompt: 'Read 30.',
    stopWhen,
    prepareStep: ({ messages }) => ({ messages: [...messages, { role: 'user', content: 'Faster.' }] }),
  });
  assert.equal(providerMetadata?.switchgear?.code, 'tool_call_limit');
});

test('a hand-written loop of single-step calls is one run', async () => {
  const gear = createSwitchgear({ ...quiet, policy: { task: { max_tool_calls: 4 } } });
  const guarded = protect({ model: reader(), tools }, { gear });
  const messages: Parameters<typeof generateText>[0]['messages'] = [{ role: 'user', content: 'Read 30.' }];
  let steps = 0;
  for (; steps < 30 && guarded.halt === undefined; steps++) {
    messages.push(...(await generateText({ ...guarded, messages: [...messages] })).response.messages);
  }
  assert.equal(steps, 5);
});
