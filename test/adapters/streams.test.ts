/** Runs that are streamed: the same limits, the same ending, and no task is left behind. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, tool as openAiTool, Runner, setTracingDisabled, Usage } from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { createAgent, tool } from 'langchain';
import { createSwitchgear } from 'switchgear';
import { protect as protectLangChain } from 'switchgear/adapters/langchain';
import { protect as protectMastra } from 'switchgear/adapters/mastra';
import { protect as protectRunner } from 'switchgear/adapters/openai-agents';
import { z } from 'zod';
import { makeAnswer, makeStreamParts } from './ai-sdk/harness.ts';
import { createScriptedModel } from './langchain/scene.ts';

setTracingDisabled(true);

const inputSchema = z.looseObject({});
const quiet = { log: 'silent', env: {} } as const;
const policy = { task: { max_tool_calls: 3 } };
const turns = Array.from({ length: 30 }, (_, page) => ({ calls: [{ tool: 'read', input: { page } }] }));

/** Counts how often it was read. */
function book() {
  let reads = 0;
  return { read: async ({ page }: Record<string, unknown>) => `page ${page} of ${++reads}`, reads: () => reads };
}

test('a streamed run of OpenAI Agents ends at its limit with an answer', async () => {
  const gear = createSwitchgear({ ...quiet, policy });
  const { read, reads } = book();
  const usage = new Usage({ inputTokens: 10, outputTokens: 10, totalTokens: 20 });
  const steps = turns.map(({ calls: [call] }, page) =>
    modelResponder(() => ({ usage, output: [functionCall('read', { ...call?.input }, { callId: `call-${page}` })] })),
  );
  const parameters = { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const };
  const execute = (input: unknown) => read(input as Record<string, unknown>);
  const reading = openAiTool({ name: 'read', description: '', parameters, strict: false, execute });
  const agent = new Agent({
    name: 'Reader',
    model: new ScriptedModel([...steps, [assistantMessage('Done.')]]),
    tools: [reading],
  });
  const runner = protectRunner(new Runner({ tracingDisabled: true }), { gear });
  const result = await runner.run(agent, 'Read.', { stream: true, maxTurns: 60 });
  for await (const _ of result) void _;
  await result.completed;
  assert.equal(reads(), 3);
  assert.match(String(result.finalOutput), /^Task stopped: tool calls: 4 of 3/);
  assert.equal((result as { switchgear?: { code?: string } }).switchgear?.code, 'tool_call_limit');
  assert.equal(gear.snapshot().tasks.length, 0);
});

test('a streamed run of LangChain ends at its limit with an answer', async () => {
  const gear = createSwitchgear({ ...quiet, policy });
  const { read, reads } = book();
  const model = createScriptedModel({ turns, stepsMax: 30 });
  const agent = createAgent(
    protectLangChain({ model, tools: [tool(read, { name: 'read', schema: inputSchema })] }, { gear }),
  );
  let last: unknown;
  for await (const state of await agent.stream({ messages: 'Read.' }, { streamMode: 'values', recursionLimit: 99 })) {
    last = state.messages.at(-1)?.response_metadata.switchgear;
  }
  assert.equal(reads(), 3);
  assert.equal(Object(last).code, 'tool_call_limit');
  assert.equal(gear.snapshot().tasks.length, 0);
});

test('a streamed run of Mastra ends at its limit with a tripwire', async () => {
  const gear = createSwitchgear({ ...quiet, policy });
  const { read, reads } = book();
  let turn = 0;
  const model = new MockLanguageModelV4({
    doStream: async () =>
      ({ stream: simulateReadableStream({ chunks: makeStreamParts(makeAnswer(turns[turn] ?? {}, ++turn)) }) }) as never,
  });
  const tools = { read: createTool({ id: 'read', description: '', inputSchema, execute: read }) };
  const about = { id: 'reader', name: 'Reader', instructions: 'Read.', model: model as never, tools };
  const streamed = await new MastraAgent(protectMastra(about, { gear })).stream('Read.', { maxSteps: 60 });
  await streamed.consumeStream();
  assert.equal(reads(), 3);
  const { tripwire } = await streamed.getFullOutput();
  assert.equal(Object(tripwire?.metadata).switchgear.code, 'tool_call_limit');
  assert.equal(gear.snapshot().tasks.length, 0);
});
