/** A hung model, an endless stream and a hung tool end when the run is out of time, in every framework. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, tool as openAiTool, Runner, setTracingDisabled } from '@openai/agents';
import { functionCall, ScriptedModel } from '@openai/agents/testing';
import { tool as aiTool, generateText, streamText } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createAgent, tool } from 'langchain';
import { createSwitchgear, type Switchgear } from 'switchgear';
import { protect as protectAiSdk } from 'switchgear/adapters/ai-sdk';
import { protect as protectQuery } from 'switchgear/adapters/claude-agent-sdk';
import { protect as protectFetch } from 'switchgear/adapters/fetch';
import { protect as protectLangChain } from 'switchgear/adapters/langchain';
import { protect as protectLangGraph } from 'switchgear/adapters/langgraph';
import { protect as protectMastra } from 'switchgear/adapters/mastra';
import { protect as protectMcp } from 'switchgear/adapters/mcp-client';
import { protect as protectRunner } from 'switchgear/adapters/openai-agents';
import { z } from 'zod';
import { makeAnswer } from './ai-sdk/harness.ts';
import { createScriptedModel } from './langchain/scene.ts';

setTracingDisabled(true);

const inputSchema = z.looseObject({});
const hang = () => new Promise<never>(() => {});
const gear = (policy = {}): Switchgear =>
  createSwitchgear({ log: 'silent', env: {}, policy: { task: { max_duration_secs: 1 }, ...policy } });
/** A tool has half a second, the run far more. */
const toolLimits = { tools: { wait: { timeout_secs: 0.5 } }, task: { max_duration_secs: 20 } };
const callTool = { calls: [{ tool: 'wait', input: {} }] };
const done = { text: 'Done.' };

function hungModel(): { readonly model: MockLanguageModelV4; readonly signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  const wait = ({ abortSignal }: { readonly abortSignal?: AbortSignal }) => {
    if (abortSignal) signals.push(abortSignal);
    return hang();
  };
  return { signals, model: new MockLanguageModelV4({ doGenerate: wait as never, doStream: wait as never }) };
}

async function* endlessParts(): AsyncGenerator<object> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: '1' };
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    yield { type: 'text-delta', id: '1', delta: 'word ' };
  }
}

const endlessModel = () =>
  new MockLanguageModelV4({ doStream: async () => ({ stream: ReadableStream.from(endlessParts()) }) as never });

function scriptedAiModel(): MockLanguageModelV4 {
  let turn = 0;
  return new MockLanguageModelV4({
    doGenerate: async () => makeAnswer([callTool, done][turn] ?? done, ++turn) as never,
  });
}

test('AI SDK: a hung model call ends with the reason, and its signal aborts', async () => {
  const { model, signals } = hungModel();
  const guarded = protectAiSdk({ model }, { gear: gear() });
  const { text } = await generateText({ ...guarded, prompt: 'Go on.' });
  assert.match(text, /running for/);
  assert.equal(guarded.halt?.code, 'duration_limit');
  assert.ok(signals[0]?.aborted);
});

test('AI SDK: a hung stream and an endless stream end with the reason', async () => {
  for (const model of [hungModel().model, endlessModel()]) {
    const guarded = protectAiSdk({ model }, { gear: gear() });
    const result = streamText({ ...guarded, prompt: 'Go on.' });
    let text = '';
    for await (const chunk of result.textStream) text += chunk;
    assert.match(text, /running for/);
    assert.equal(guarded.halt?.code, 'duration_limit');
  }
});

test('AI SDK: a hung tool times out', async () => {
  const guardedBy = gear(toolLimits);
  const tools = { wait: aiTool({ description: '', inputSchema, execute: hang as () => Promise<string> }) };
  const guarded = protectAiSdk({ model: scriptedAiModel(), tools }, { gear: guardedBy });
  const { text } = await generateText({ ...guarded, prompt: 'Go on.', stopWhen: () => false });
  assert.equal(text, 'Done.');
  assert.equal(guardedBy.breaker('wait').stats.totalFailures, 1);
});

test('OpenAI Agents: a hung model call ends with the reason, whole or streamed', async () => {
  for (const stream of [false, true]) {
    const model = {
      getResponse: hang,
      getStreamedResponse: () => ({ [Symbol.asyncIterator]: () => ({ next: hang }) }),
    };
    const runner = protectRunner(new Runner({ tracingDisabled: true }), { gear: gear() });
    const agent = new Agent({ name: 'Pilot', model: model as never });
    const result = stream ? await runner.run(agent, 'Go on.', { stream: true }) : await runner.run(agent, 'Go on.');
    if ('completed' in result) await result.completed;
    assert.match(String(result.finalOutput), /running for/);
    assert.equal(Reflect.get(Reflect.get(result, 'switchgear') ?? {}, 'code'), 'duration_limit');
  }
});

test('OpenAI Agents: a hung tool times out, or ends with the run', async () => {
  for (const policy of [toolLimits, {}]) {
    const guardedBy = gear(policy);
    const parameters = { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const };
    const wait = openAiTool({ name: 'wait', description: '', parameters, strict: false, execute: hang });
    const model = new ScriptedModel([[functionCall('wait', {}, { callId: 'call-1' })], ['Done.'] as never]);
    const runner = protectRunner(new Runner({ tracingDisabled: true }), { gear: guardedBy });
    const result = await runner.run(new Agent({ name: 'Pilot', model, tools: [wait] }), 'Go on.').catch(String);
    const stats = guardedBy.breaker('wait').stats;
    if (policy === toolLimits) assert.equal(stats.totalFailures, 1, String(result));
    else assert.match(String(Reflect.get(Object(result), 'finalOutput')), /running for/);
  }
});

test('LangChain: a hung model call ends with the reason, and a hung tool times out', async () => {
  class HungModel extends FakeListChatModel {
    override bindTools(): never {
      return this as never;
    }
    override async _generate(): Promise<never> {
      return hang();
    }
  }
  const hung = createAgent(
    protectLangChain({ model: new HungModel({ responses: [''] }), tools: [] }, { gear: gear() }) as never,
  );
  const { messages } = (await hung.invoke({ messages: 'Go on.' } as never)) as { messages: { content: unknown }[] };
  assert.match(String(messages.at(-1)?.content), /running for/);

  const guardedBy = gear(toolLimits);
  const model = createScriptedModel({ turns: [callTool, done], stepsMax: 9 });
  const tools = [tool(hang, { name: 'wait', schema: inputSchema })];
  await createAgent(protectLangChain({ model, tools }, { gear: guardedBy })).invoke({ messages: 'Go on.' });
  assert.equal(guardedBy.breaker('wait').stats.totalFailures, 1);
});

test('LangGraph: a graph whose node hangs ends with the refusal', async () => {
  const { MessagesAnnotation, START, StateGraph } = await import('@langchain/langgraph');
  const graph = new StateGraph(MessagesAnnotation).addNode('wait', hang).addEdge(START, 'wait').compile();
  const guarded = protectLangGraph(graph, { gear: gear() });
  await assert.rejects(guarded.invoke({ messages: [] }), { name: 'RefusedError' });
  await assert.rejects(
    (async () => {
      for await (const _ of await guarded.stream({ messages: [] }));
    })(),
    { name: 'RefusedError' },
  );
});

test('Mastra: a hung model ends the run with a tripwire, and a hung tool times out', async () => {
  const about = { id: 'pilot', name: 'Pilot', instructions: 'Go on.' };
  const hung = new MastraAgent(protectMastra({ ...about, model: hungModel().model as never }, { gear: gear() }));
  const { tripwire } = await hung.generate('Go on.');
  assert.match(String(tripwire?.reason), /running for/);

  const guardedBy = gear(toolLimits);
  const tools = { wait: createTool({ id: 'wait', description: '', inputSchema, execute: hang }) };
  const settings = { ...about, model: scriptedAiModel() as never, tools };
  await new MastraAgent(protectMastra(settings, { gear: guardedBy })).generate('Go on.', { maxSteps: 5 });
  assert.equal(guardedBy.breaker('wait').stats.totalFailures, 1);
});

test('Claude Agent SDK: a query that falls silent is interrupted, and ends with a result', async () => {
  let interrupts = 0;
  let closes = 0;
  const silent = () =>
    Object.assign(
      (async function* () {
        yield { type: 'system' };
        await hang();
      })(),
      { interrupt: async () => void interrupts++, close: () => void closes++ },
    );
  const messages: object[] = [];
  for await (const message of protectQuery(silent as never as (params: object) => AsyncIterable<object>, {
    gear: gear(),
  })({})) {
    messages.push(message);
  }
  assert.equal(Reflect.get(Reflect.get(messages.at(-1) ?? {}, 'switchgear') ?? {}, 'code'), 'duration_limit');
  assert.deepEqual([interrupts, closes], [1, 1]);
});

test('fetch: a hung answer and an endless body end with the task, and the connection closes', async () => {
  let open = 0;
  const server = createServer((request, response) => {
    open++;
    response.on('close', () => open--);
    if (request.url === '/hung') return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write('data: {"choices":[{"delta":{"content":"word"}}]}\n\n'), 20);
    response.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  for (const path of ['hung', 'endless']) {
    const guardedBy = gear();
    const send = protectFetch(fetch, { gear: guardedBy });
    const { status, halt } = (await guardedBy.task(async () => {
      const body = JSON.stringify({ model: 'gpt-4o' });
      const response = await send(`http://127.0.0.1:${port}/${path}`, { method: 'POST', body });
      return response.status === 200 ? response.text() : response.status;
    })) as { status: string; halt?: { code: string } };
    assert.deepEqual([status, halt?.code], ['halted', 'duration_limit'], path);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(open, 0, `${path}: the connection is open`);
  }
  server.close();
});

test('MCP client: a hung call ends with the task', async () => {
  const guardedBy = gear();
  const client = protectMcp({ callTool: hang as (...args: never[]) => Promise<unknown> }, { gear: guardedBy });
  const result = await guardedBy.task(() => client.callTool(...([{ name: 'wait' }] as never[])));
  assert.equal(result.status, 'halted');
  assert.match(JSON.stringify(result.value), /running for/);
});
