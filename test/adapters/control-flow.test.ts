/** What hosts steer by is not ours: interrupts, tripwires and aborts pass as they are, and say nothing about a tool. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command, interrupt, MemorySaver } from '@langchain/langgraph';
import { Agent, tool as openAiTool, Runner, setTracingDisabled } from '@openai/agents';
import { functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { tool as aiTool, generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createAgent, tool } from 'langchain';
import { createSwitchgear } from 'switchgear';
import { protect as protectAi } from 'switchgear/adapters/ai-sdk';
import { protect as protectLangChain } from 'switchgear/adapters/langchain';
import { protect as protectRunner } from 'switchgear/adapters/openai-agents';
import { z } from 'zod';
import { makeAnswer } from './ai-sdk/harness.ts';
import { countInterrupts, createScriptedModel, schema } from './langchain/scene.ts';

setTracingDisabled(true);

const quiet = { log: 'silent', env: {} } as const;
const turns = [{ calls: [{ tool: 'ask' }] }, { text: 'Done.' }];
const config = { configurable: { thread_id: 'one' } };

test('a LangChain tool that interrupts its graph is resumed in the same task without a failure', async () => {
  const gear = createSwitchgear(quiet);
  const asking = tool(async () => `it was ${interrupt('Who was it?')}`, { name: 'ask', schema });
  const settings = {
    model: createScriptedModel({ turns, stepsMax: 2 }),
    tools: [asking],
    checkpointer: new MemorySaver(),
  };
  const agent = createAgent(protectLangChain(settings, { gear }));
  assert.equal(countInterrupts(await agent.invoke({ messages: 'Go on.' }, config)), 1);
  const before = gear.snapshot().tasks.map(({ id }) => id);
  const { messages } = await agent.invoke(new Command({ resume: 'Ann' }), config);
  assert.deepEqual(
    messages.map(({ text }) => text),
    ['Go on.', '', 'it was Ann', 'Done.'],
  );
  assert.equal(before.length, 1);
  const { totalFailures, totalNeutrals, totalSuccesses } = gear.breaker('ask').stats;
  assert.deepEqual([totalFailures, totalNeutrals, totalSuccesses], [0, 1, 1]);
});

test('a call that a person approved after an interrupt is counted once', async () => {
  const policy = { rules: [{ target: 'tool:ask', condition: 'ability:ask', action: 'confirm' as const }] };
  const gear = createSwitchgear({ ...quiet, policy });
  const task = gear.startTask();
  const asking = tool(async () => 'asked', { name: 'ask', schema });
  const settings = {
    model: createScriptedModel({ turns, stepsMax: 2 }),
    tools: [asking],
    checkpointer: new MemorySaver(),
  };
  const agent = createAgent(protectLangChain(settings, { gear, task }));
  await agent.invoke({ messages: 'Go on.' }, config);
  await agent.invoke(new Command({ resume: { decisions: [{ type: 'approve' }] } }), config);
  assert.equal(task.snapshot().toolCalls, 1);
});

test('a user-defined guardrail tripwire ends an OpenAI Agents run as without Switchgear', async () => {
  const gear = createSwitchgear(quiet);
  const parameters = { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const };
  const tripwire = { type: 'tool_input', name: 'mine', run: async () => ({ behavior: { type: 'throwException' } }) };
  const inputGuardrails = [tripwire as never];
  const execute = () => 'asked';
  const asking = openAiTool({ name: 'ask', description: '', parameters, strict: false, execute, inputGuardrails });
  for (const runner of [new Runner(), protectRunner(new Runner(), { gear })]) {
    const model = new ScriptedModel([modelResponder(() => [functionCall('ask', {}, { callId: 'a' })])]);
    await assert.rejects(runner.run(new Agent({ name: 'Tester', model, tools: [asking] }), 'Go on.'), (error) => {
      return Object(error).error?.name === 'ToolInputGuardrailTripwireTriggered';
    });
  }
  assert.equal(gear.breaker('ask').stats.totalRequests, 0);
  assert.equal(gear.snapshot().tasks.length, 0);
});

test('an aborted AI SDK run throws the abort reason, and the tool has no failure', async () => {
  const gear = createSwitchgear(quiet);
  const stop = new AbortController();
  const why = new Error('the user left');
  const model = new MockLanguageModelV4({ doGenerate: async () => makeAnswer(turns[0] ?? {}, 1) as never });
  const execute = (): string => {
    stop.abort(why);
    throw why;
  };
  const call = protectAi({ model, tools: { ask: aiTool({ inputSchema: z.looseObject({}), execute }) } }, { gear });
  const run = generateText({ ...call, prompt: 'Go on.', abortSignal: stop.signal, stopWhen: isStepCount(4) });
  await assert.rejects(run, (error) => error === why);
  assert.equal(gear.breaker('ask').stats.totalFailures, 0);
});
