/** LangChain's agents with their own fake model. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent, createMiddleware, fakeModel, tool } from 'langchain';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/langchain';
import { adapterSuite, type HostScene, type HostTranscript } from 'switchgear/testing';
import { z } from 'zod';

const schema = z.looseObject({});

type Model = ReturnType<typeof fakeModel>;

/** The turns of a scene, as often as the agent may ask. */
function scripted({ turns, stepsMax }: Pick<HostScene, 'turns' | 'stepsMax'>): Model {
  const model = fakeModel();
  for (let step = 0; step < stepsMax; step++) {
    const { text = '', calls = [], tokens = 10 } = turns[Math.min(step, turns.length - 1)] ?? {};
    const tool_calls = calls.map((call, index) => ({
      name: call.tool,
      args: { ...call.input },
      id: `call-${step}-${index}`,
      type: 'tool_call' as const,
    }));
    const usage_metadata = { input_tokens: tokens, output_tokens: tokens, total_tokens: 2 * tokens };
    model.respond(new AIMessage({ content: text, tool_calls, ...({ usage_metadata } as object) }));
  }
  return model;
}

async function play(scene: HostScene): Promise<HostTranscript> {
  const { gear, workers = [] } = scene;
  const model = scripted(scene);
  const tools = Object.entries(scene.tools).map(([name, run]) =>
    tool(async (input, { signal }) => String(await run(input, signal)), { name, schema }),
  );
  const settings = { model, tools, checkpointer: new MemorySaver() };
  const agent = createAgent(gear === undefined ? settings : protect(settings, { gear, workers }));
  const config = {
    configurable: { thread_id: 'one' },
    recursionLimit: 2 * scene.stepsMax + 1,
    ...(scene.signal && { signal: scene.signal }),
  };
  let asked = 0;
  let state = await agent.invoke({ messages: [new HumanMessage('Go on.')] }, config);
  for (let pending = interruptsOf(state); pending > 0; pending = interruptsOf(state)) {
    asked += pending;
    const type = scene.answers === 'approve' ? 'approve' : 'reject';
    state = await agent.invoke(new Command({ resume: { decisions: [{ type }] } }), config);
  }
  const messages: BaseMessage[] = state.messages;
  const last = messages.at(-1);
  const facts = last?.response_metadata.switchgear as { code: HostTranscript['halt'] } | undefined;
  return {
    modelCalls: model.callCount,
    told: messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text),
    answer: last?.text ?? '',
    halt: facts?.code,
    asked,
    messages: messages.map((message) => ({ ...message.toDict().data, type: message.type, id: undefined })),
  };
}

function interruptsOf(state: object): number {
  return ((state as { __interrupt__?: unknown[] }).__interrupt__ ?? []).length;
}

adapterSuite({ name: 'LangChain', run: play });

const broken = tool(
  async (): Promise<string> => {
    throw new RangeError('out of reach');
  },
  { name: 'broken', schema },
);
const calls = { turns: [{ calls: [{ tool: 'broken' }] }, { text: 'Done.' }], stepsMax: 2 };

test('with other middleware around tools an error ends the run as it does without us', async () => {
  const middleware = [createMiddleware({ name: 'other', wrapToolCall: (request, handler) => handler(request) })];
  const gear = createSwitchgear({ log: 'silent', env: {} });
  for (const guard of [
    <S>(settings: S) => settings,
    <S extends { model: unknown }>(all: S) => protect(all, { gear }),
  ]) {
    const agent = createAgent(guard({ model: scripted(calls), tools: [broken], middleware }));
    await assert.rejects(agent.invoke({ messages: 'Go on.' }), { name: 'RangeError', message: 'out of reach' });
  }
  assert.equal(gear.breaker('broken').stats.totalFailures, 1);
});

test('a guarded agent takes as many steps of its graph as a bare one', async () => {
  const loop = { turns: [{ calls: [{ tool: 'count' }] }], stepsMax: 30 };
  const steps = async (guard: <S extends { model: unknown }>(settings: S) => S) => {
    let count = 0;
    const counting = tool(() => `${++count} of many`, { name: 'count', schema });
    const agent = createAgent(guard({ model: scripted(loop), tools: [counting] }));
    await assert.rejects(agent.invoke({ messages: 'Go on.' }, { recursionLimit: 9 }), { name: 'GraphRecursionError' });
    return count;
  };
  const gear = createSwitchgear({ log: 'silent', env: {} });
  assert.equal(await steps((settings) => protect(settings, { gear })), await steps((settings) => settings));
});

test('a call with arguments that do not fit is the model’s mistake and no failure of the tool', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const strict = tool(() => 'fits', { name: 'strict', schema: z.object({ size: z.number() }) });
  const model = scripted({
    turns: [{ calls: [{ tool: 'strict', input: { size: 'big' } }] }, { text: 'Done.' }],
    stepsMax: 2,
  });
  const { messages } = await createAgent(protect({ model, tools: [strict] }, { gear })).invoke({ messages: 'Go on.' });
  assert.equal(messages.at(-1)?.text, 'Done.');
  assert.equal(gear.breaker('strict').stats.totalFailures, 0);
});

test('where a graph keeps nothing, nobody can be asked and the call is refused', async () => {
  const policy = { rules: [{ target: 'tool:broken', condition: 'ability:broken', action: 'confirm' }] };
  const gear = createSwitchgear({ log: 'silent', env: {}, policy });
  const agent = createAgent(protect({ model: scripted(calls), tools: [broken] }, { gear }));
  const { messages } = await agent.invoke({ messages: 'Go on.' });
  assert.match(messages.find((message) => ToolMessage.isInstance(message))?.text ?? '', /nobody approved/i);
  assert.equal(messages.at(-1)?.text, 'Done.');
});
