/** LangChain's agents with their own fake model. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { Command, MemorySaver } from '@langchain/langgraph';
import { type AgentMiddleware, createAgent, createMiddleware, tool, toolRetryMiddleware } from 'langchain';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/langchain';
import { adapterSuite, type HostScene, type HostTranscript } from 'switchgear/testing';
import { z } from 'zod';
import { countInterrupts, createScriptedModel, makeConfig, makeTools, makeTranscript, schema } from './scene.ts';

async function play(scene: HostScene): Promise<HostTranscript> {
  const { gear, workers = [] } = scene;
  const model = createScriptedModel(scene);
  const settings = { model, tools: makeTools(scene), checkpointer: new MemorySaver() };
  const agent = createAgent(gear === undefined ? settings : protect(settings, { gear, workers }));
  const config = makeConfig(scene);
  let approvalsAsked = 0;
  const input = { messages: [new HumanMessage('Go on.')] };
  if (scene.turns[0]?.chunks !== undefined) {
    for await (const _ of await agent.stream(input, { ...config, streamMode: 'messages' }));
    const { messages } = (await agent.graph.getState(config)).values as { messages: BaseMessage[] };
    return makeTranscript(model, messages, 0);
  }
  let state = await agent.invoke(input, config);
  for (let pending = countInterrupts(state); pending > 0; pending = countInterrupts(state)) {
    approvalsAsked += pending;
    const type = scene.answers === 'approve' ? 'approve' : 'reject';
    state = await agent.invoke(new Command({ resume: { decisions: [{ type }] } }), config);
  }
  return makeTranscript(model, state.messages, approvalsAsked);
}

adapterSuite({ name: 'LangChain', run: play });

const broken = tool(
  async (): Promise<string> => {
    throw new RangeError('out of reach');
  },
  { name: 'broken', schema },
);
const calls = { turns: [{ calls: [{ tool: 'broken' }] }, { text: 'Done.' }], stepsMax: 2 };

test('with other tool middleware a tool error ends the run as without Switchgear', async () => {
  const middleware = [createMiddleware({ name: 'other', wrapToolCall: (request, handler) => handler(request) })];
  const gear = createSwitchgear({ log: 'silent', env: {} });
  for (const guard of [
    <S>(settings: S) => settings,
    <S extends { model: unknown }>(all: S) => protect(all, { gear }) as S,
  ]) {
    const agent = createAgent(guard({ model: createScriptedModel(calls), tools: [broken], middleware }));
    await assert.rejects(agent.invoke({ messages: 'Go on.' }), { name: 'RangeError', message: 'out of reach' });
  }
  assert.equal(gear.breaker('broken').stats.totalFailures, 1);
});

test('a guarded agent takes as many graph steps as an unguarded one', async () => {
  const loop = { turns: [{ calls: [{ tool: 'count' }] }], stepsMax: 30 };
  const steps = async (guard: <S extends { model: unknown }>(settings: S) => S) => {
    let count = 0;
    const counting = tool(() => `${++count} of many`, { name: 'count', schema });
    const agent = createAgent(guard({ model: createScriptedModel(loop), tools: [counting] }));
    await assert.rejects(agent.invoke({ messages: 'Go on.' }, { recursionLimit: 9 }), { name: 'GraphRecursionError' });
    return count;
  };
  const gear = createSwitchgear({ log: 'silent', env: {} });
  assert.equal(
    await steps(<S extends { model: unknown }>(settings: S) => protect(settings, { gear }) as S),
    await steps((settings) => settings),
  );
});

test('each retry by a middleware counts, and the breaker opened by the retries ends them', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  // Its own types do not fit exact optional properties.
  const again = toolRetryMiddleware({ maxRetries: 9, initialDelayMs: 0, jitter: false }) as unknown as AgentMiddleware;
  const settings = { model: createScriptedModel({ ...calls, stepsMax: 30 }), tools: [broken], middleware: [again] };
  const { messages } = await createAgent(protect(settings, { gear })).invoke({ messages: 'Go on.' });
  assert.equal(gear.breaker('broken').stats.totalFailures, 5);
  assert.match(messages.find((message) => ToolMessage.isInstance(message))?.text ?? '', /circuit breaker open/);
  assert.equal(messages.at(-1)?.text, 'Done.');
});

test('a human message inserted by a middleware, such as a summary, starts no new task', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {}, policy: { task: { max_tool_calls: 4 } } });
  const turns = Array.from({ length: 30 }, (_, page) => ({ calls: [{ tool: 'read', input: { page } }] }));
  const reading = tool(async ({ page }) => `page ${page}`, { name: 'read', schema });
  const words = createMiddleware({
    name: 'words',
    beforeModel: { hook: () => ({ messages: [new HumanMessage('So far, so good.')] }) },
  });
  const settings = { model: createScriptedModel({ turns, stepsMax: 30 }), tools: [reading], middleware: [words] };
  const { messages } = await createAgent(protect(settings, { gear })).invoke(
    { messages: 'Read.' },
    { recursionLimit: 99 },
  );
  assert.deepEqual(Object(messages.at(-1)?.response_metadata.switchgear).code, 'tool_call_limit');
});

test('a call with invalid arguments is not a failure of the tool', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const strict = tool(() => 'fits', { name: 'strict', schema: z.object({ size: z.number() }) });
  const model = createScriptedModel({
    turns: [{ calls: [{ tool: 'strict', input: { size: 'big' } }] }, { text: 'Done.' }],
    stepsMax: 2,
  });
  const { messages } = await createAgent(protect({ model, tools: [strict] }, { gear })).invoke({ messages: 'Go on.' });
  assert.equal(messages.at(-1)?.text, 'Done.');
  assert.equal(gear.breaker('strict').stats.totalFailures, 0);
});

test('in a graph without a checkpointer, a call that needs approval is refused', async () => {
  const policy = { rules: [{ target: 'tool:broken', condition: 'ability:broken', action: 'confirm' as const }] };
  const gear = createSwitchgear({ log: 'silent', env: {}, policy });
  const agent = createAgent(protect({ model: createScriptedModel(calls), tools: [broken] }, { gear }));
  const { messages } = await agent.invoke({ messages: 'Go on.' });
  const { text = '' } = messages.find((message) => ToolMessage.isInstance(message)) ?? {};
  assert.match(text, /^No approver is available for 'broken'/);
  assert.equal(messages.at(-1)?.text, 'Done.');
});
