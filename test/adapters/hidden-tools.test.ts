/** Tools whose circuits are open, hidden from the model on demand, and shown again when they may be tried. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tool as aiTool, generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createAgent, tool } from 'langchain';
import { createSwitchgear } from 'switchgear';
import { protect as protectAi } from 'switchgear/adapters/ai-sdk';
import { protect as protectLangChain } from 'switchgear/adapters/langchain';
import { simulatedClock } from 'switchgear/testing';
import { z } from 'zod';
import { makeAnswer } from './ai-sdk/harness.ts';
import { createScriptedModel } from './langchain/scene.ts';

const inputSchema = z.looseObject({});

test('AI SDK: hideOpenTools hides tools with an open breaker, even if that leaves no tools', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ log: 'silent', env: {}, clock });
  const seen: unknown[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: async ({ tools, toolChoice }) => {
      seen.push([tools?.map(({ name }) => name), toolChoice?.type]);
      return makeAnswer({ text: 'Done.' }, 1) as never;
    },
  });
  const made = aiTool({ inputSchema, execute: () => 'page' });
  const ask = (hideOpenTools: boolean) =>
    generateText({
      ...protectAi({ model, tools: { read: made, write: made } }, { gear, hideOpenTools }),
      prompt: 'Go.',
    });
  await ask(true);
  gear.breaker('read').trip();
  await ask(true);
  await ask(false);
  gear.breaker('write').trip();
  await ask(true);
  clock.advance(61_000);
  await ask(true);
  assert.deepEqual(seen, [
    [['read', 'write'], 'auto'],
    [['write'], 'auto'],
    [['read', 'write'], 'auto'],
    [undefined, undefined],
    [['read', 'write'], 'auto'],
  ]);
  assert.equal(gear.breaker('read').stats.totalRequests, 0);
});

test('LangChain: hideOpenTools hides tools with an open breaker from the model', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const seen: unknown[] = [];
  const tools = ['read', 'write'].map((name) => tool(() => 'page', { name, schema: inputSchema }));
  const model = createScriptedModel({ turns: [{ text: 'Done.' }], stepsMax: 1 });
  const bind = model.bindTools.bind(model);
  model.bindTools = (bound) => {
    seen.push(bound.map((each) => Reflect.get(each, 'name')));
    return bind(bound);
  };
  gear.breaker('read').trip();
  const { messages } = await createAgent(protectLangChain({ model, tools }, { gear, hideOpenTools: true })).invoke({
    messages: 'Go.',
  });
  assert.deepEqual(seen, [['write']]);
  assert.equal(messages.at(-1)?.text, 'Done.');
});

test('with hideOpenTools the model makes no call to a tool with an open breaker', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  let reached = 0;
  const execute = async (): Promise<string> => {
    throw new Error(`no answer to ${++reached}`);
  };
  // Asks for the tool as long as it is there.
  const model = new MockLanguageModelV4({
    doGenerate: async ({ tools = [] }) =>
      makeAnswer(tools.length > 0 ? { calls: [{ tool: 'search' }] } : { text: 'It is down.' }, reached) as never,
  });
  const call = protectAi({ model, tools: { search: aiTool({ inputSchema, execute }) } }, { gear, hideOpenTools: true });
  const { text } = await generateText({ ...call, prompt: 'Go.', stopWhen: isStepCount(60) });
  assert.deepEqual([reached, model.doGenerateCalls.length, text, call.halt], [5, 6, 'It is down.', undefined]);
});
