/** Calls that hang in forms that only one framework has; those of all are in the adapter suite. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, Runner, setTracingDisabled } from '@openai/agents';
import { MockLanguageModelV4 } from 'ai/test';
import { createSwitchgear, type Switchgear } from 'switchgear';
import { protect as protectQuery } from 'switchgear/adapters/claude-agent-sdk';
import { protect as protectFetch } from 'switchgear/adapters/fetch';
import { protect as protectLangGraph } from 'switchgear/adapters/langgraph';
import { protect as protectMastra } from 'switchgear/adapters/mastra';
import { protect as protectRunner } from 'switchgear/adapters/openai-agents';
import { z } from 'zod';
import { makeAnswer } from './ai-sdk/harness.ts';

setTracingDisabled(true);

const inputSchema = z.looseObject({});
const hang = () => new Promise<never>(() => {});
const gear = (policy = {}): Switchgear =>
  createSwitchgear({ log: 'silent', env: {}, policy: { task: { max_duration_secs: 1 }, ...policy } });

test('Mastra: a hung tool that is given to the call times out', async () => {
  const guardedBy = gear({ tools: { wait: { timeout_secs: 0.5 } }, task: { max_duration_secs: 20 } });
  const callTool = { calls: [{ tool: 'wait', input: {} }] };
  let turn = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () => makeAnswer([callTool][turn] ?? { text: 'Done.' }, ++turn) as never,
  });
  const own = { rest: createTool({ id: 'rest', description: '', inputSchema, execute: async () => 'rested' }) };
  const settings = { id: 'pilot', name: 'Pilot', instructions: 'Go on.', model: model as never, tools: own };
  const toolsets = { given: { wait: createTool({ id: 'wait', description: '', inputSchema, execute: hang }) } };
  const agent = new MastraAgent(protectMastra(settings, { gear: guardedBy }));
  const { text } = await agent.generate('Go on.', { maxSteps: 5, toolsets });
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
