/** What is protected twice, in a module and again where it is used, is guarded and counted once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, tool as openAiTool, Runner, setTracingDisabled, Usage } from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { tool as aiTool, generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createAgent, tool } from 'langchain';
import { createSwitchgear, type Switchgear, type Task } from 'switchgear';
import { protect as protectAi } from 'switchgear/adapters/ai-sdk';
import { protect as protectQuery } from 'switchgear/adapters/claude-agent-sdk';
import { protect as protectFetch } from 'switchgear/adapters/fetch';
import { protect as protectFunctions } from 'switchgear/adapters/functions';
import { protect as protectLangChain } from 'switchgear/adapters/langchain';
import { protect as protectLangGraph } from 'switchgear/adapters/langgraph';
import { protect as protectMastra } from 'switchgear/adapters/mastra';
import { protect as protectClient } from 'switchgear/adapters/mcp-client';
import { protect as protectRunner } from 'switchgear/adapters/openai-agents';
import { z } from 'zod';
import { makeAnswer } from './ai-sdk/harness.ts';
import { createScriptedModel } from './langchain/scene.ts';

setTracingDisabled(true);

const inputSchema = z.looseObject({});
const turns = [{ calls: [{ tool: 'read' }] }, { text: 'Done.' }];
const read = async () => 'page 1';

function reader(): MockLanguageModelV4 {
  let turn = 0;
  return new MockLanguageModelV4({ doGenerate: async () => makeAnswer(turns[turn] ?? {}, ++turn) as never });
}

interface Guard {
  readonly gear: Switchgear;
  readonly task: Task;
}

/** One call of `read` in a framework whose parts are protected twice, and the tokens that it cost. */
const runs: Readonly<Record<string, (guard: Guard) => Promise<number>>> = {
  async 'the AI SDK'(guard) {
    const once = protectAi({ model: reader(), tools: { read: aiTool({ inputSchema, execute: read }) } }, guard);
    await generateText({ ...protectAi(once, guard), prompt: 'Read.', stopWhen: isStepCount(5) });
    return 40;
  },
  async LangChain(guard) {
    const model = createScriptedModel({ turns, stepsMax: 2 });
    const once = protectLangChain({ model, tools: [tool(read, { name: 'read', schema: inputSchema })] }, guard);
    await createAgent(protectLangChain(once, guard)).invoke({ messages: 'Read.' });
    return 40;
  },
  async LangGraph(guard) {
    const reading = protectLangGraph(tool(read, { name: 'read', schema: inputSchema }), guard);
    await protectLangGraph(reading, guard).invoke({});
    const model = protectLangGraph(protectLangGraph(createScriptedModel({ turns, stepsMax: 2 }), guard), guard);
    await protectLangGraph(model.bindTools([]), guard).invoke([]);
    return 20;
  },
  async 'OpenAI Agents'(guard) {
    const usage = new Usage({ inputTokens: 10, outputTokens: 10, totalTokens: 20 });
    const model = new ScriptedModel([
      modelResponder(() => ({ usage, output: [functionCall('read', {}, { callId: 'a' })] })),
      modelResponder(() => ({ usage, output: [assistantMessage('Done.')] })),
    ]);
    const parameters = { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const };
    const reading = openAiTool({ name: 'read', description: '', parameters, strict: false, execute: read });
    const once = protectRunner(new Runner({ modelProvider: { getModel: () => model } }), guard);
    await protectRunner(once, guard).run(new Agent({ name: 'Reader', model: 'gpt-4o', tools: [reading] }), 'Read.');
    return 40;
  },
  async Mastra(guard) {
    const tools = { read: createTool({ id: 'read', description: '', inputSchema, execute: read }) };
    const about = { id: 'reader', name: 'Reader', instructions: 'Read.', model: reader() as never, tools };
    await new MastraAgent(protectMastra(protectMastra(about, guard), guard)).generate('Read.');
    return 40;
  },
  async 'an MCP client'(guard) {
    const client = { callTool: async (_: { name: string }) => ({ content: [] }) };
    await protectClient(protectClient(client, guard), guard).callTool({ name: 'read' });
    return 0;
  },
  async functions(guard) {
    await protectFunctions(protectFunctions({ read }, guard), guard).read();
    return 0;
  },
};

for (const [name, run] of Object.entries(runs)) {
  test(`protecting ${name} twice guards each call once`, async () => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    const task = gear.startTask();
    const tokens = await run({ gear, task });
    assert.equal(gear.breaker('read').stats.totalSuccesses, 1);
    assert.equal(task.snapshot().tokens, tokens);
    assert.equal(task.snapshot().toolCalls, 1);
  });
}

test('protecting fetch or query twice guards each call once', () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const [fetching, query] = [protectFetch(fetch, { gear }), protectQuery(async function* () {}, { gear })];
  assert.equal(protectFetch(fetching, { gear }), fetching);
  assert.equal(protectQuery(query, { gear }), query);
  assert.notEqual(protectFetch(fetching, { gear: createSwitchgear({ log: 'silent', env: {} }) }), fetching);
});

test('a tool that is added to guarded settings of the AI SDK belongs to the same runs', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const guarded = protectAi({ model: reader(), tools: {} }, { gear });
  const seen: unknown[] = [];
  const execute = () => seen.push(gear.currentTask()?.id, ...gear.snapshot().tasks.map(({ id }) => id));
  const tools = { ...guarded.tools, read: aiTool({ inputSchema, execute }) };
  await generateText({ ...protectAi({ ...guarded, tools }, { gear }), prompt: 'Read.', stopWhen: isStepCount(5) });
  assert.equal(seen.length, 2);
  assert.equal(seen[0], seen[1]);
});
