/** `protect` throws on what it does not know, and names what to write instead. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Client } from '@modelcontextprotocol/client';
import { Agent, tool as openAiTool, Runner } from '@openai/agents';
import { tool as aiTool, ToolLoopAgent } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createAgent, fakeModel, tool } from 'langchain';
import OpenAI from 'openai';
import { createSwitchgear, type Switchgear, SwitchgearError } from 'switchgear';
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

type Protect = (thing: never, options: { readonly gear: Switchgear }) => unknown;

const parameters = z.object({ city: z.string() });
const model = new MockLanguageModelV4();
const openAi = new OpenAI({ apiKey: 'none' });
const weather = tool(({ city }) => city, { name: 'weather', schema: parameters });
const chatModel = fakeModel();
const agent = createAgent({ model: chatModel, tools: [weather] });
const graph = new StateGraph(MessagesAnnotation).addNode('only', () => ({ messages: [] })).addEdge(START, 'only');
const mastraSettings = { id: 'sailor', name: 'Sailor', instructions: 'Sail.', model: 'openai/gpt-5' } as const;
const openAiAgent = new Agent({ name: 'Sailor' });
const madeTool = openAiTool({ name: 'weather', description: '', parameters, execute: async ({ city }) => city });

class Tools {
  search() {
    return 1;
  }
}

/** What an adapter does not know, by what it is, and a part of the message. */
const unknown: readonly (readonly [string, Protect, string, unknown, RegExp])[] = [
  ['ai-sdk', protectAi, 'an agent', new ToolLoopAgent({ model }), /ToolLoopAgent: write protect\(\{ model, tools \}\)/],
  ['ai-sdk', protectAi, 'a model', model, /MockLanguageModelV4/],
  ['ai-sdk', protectAi, 'settings with nothing to guard', { prompt: 'Hello' }, /neither model nor tools/],
  ['ai-sdk', protectAi, 'tools that are not awaited', { tools: Promise.resolve({}) }, /an object of tools.*Promise/],
  ['ai-sdk', protectAi, 'a list of tools', { model, tools: [aiTool({ inputSchema: parameters })] }, /got a list/],
  ['langchain', protectLangChain, 'an agent', agent, /createAgent\(protect\(\{ model, tools \}\)\)/],
  ['langchain', protectLangChain, 'a tool', weather, /switchgear\/adapters\/langgraph/],
  ['langchain', protectLangChain, 'a model', chatModel, /createAgent/],
  ['langchain', protectLangChain, 'settings without a model', { tools: [] }, /no model/],
  ['langgraph', protectLangGraph, 'a graph that is not compiled', graph, /protect\(graph\.compile\(\)\)/],
  ['langgraph', protectLangGraph, 'an agent of LangChain', agent, /createAgent\(protect\(settings\)\)/],
  ['langgraph', protectLangGraph, 'a list with a graph in it', [weather, graph], /compile/],
  ['langgraph', protectLangGraph, 'a model with bound tools', chatModel.bindTools([weather]), /before bindTools/],
  ['langgraph', protectLangGraph, 'settings', { model: chatModel }, /got an object with model/],
  ['openai-agents', protectRunner, 'an agent', openAiAgent, /protect\(new Runner\(\)\); await runner\.run/],
  ['openai-agents', protectRunner, 'a tool', madeTool, /the runner guards its calls/],
  ['openai-agents', protectRunner, 'a class', Runner, /the class Runner/],
  ['claude-agent-sdk', protectQuery, 'options', { prompt: 'Hello' }, /protect\(query\)/],
  ['mastra', protectMastra, 'an agent', new MastraAgent(mastraSettings), /new Agent\(protect\(/],
  ['mastra', protectMastra, 'a tool', createTool({ id: 'a', description: '' } as never), /an instance of Tool/],
  ['mastra', protectMastra, 'settings without a name', { model: 'openai/gpt-5' }, /an object with model/],
  ['fetch', protectFetch, 'a client', openAi, /instance of OpenAI: write new OpenAI\(\{ fetch: protect\(fetch\) \}\)/],
  ['fetch', protectFetch, 'the class of a client', OpenAI, /the class OpenAI/],
  ['mcp-client', protectClient, 'a client of a provider', openAi, /callTool/],
  ['mcp-client', protectClient, 'the class of a client', Client, /the class Client/],
  ['functions', protectFunctions, 'a class', Tools, /the class Tools: protect an instance of it/],
  ['functions', protectFunctions, 'a promise of tools', Promise.resolve({}), /await it first/],
  ['functions', protectFunctions, 'an object without functions', { limit: 3 }, /no function to guard/],
  ['functions', protectFunctions, 'a list of texts', ['search'], /got "search"/],
];

for (const [adapter, protect, what, thing, message] of unknown) {
  test(`${adapter}: protect throws on ${what}`, () => {
    using gear = createSwitchgear({ log: 'silent', env: {} });
    assert.throws(
      () => protect(thing as never, { gear }),
      (error: unknown) => {
        assert.ok(error instanceof SwitchgearError && error.code === 'invalid_argument', String(error));
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

for (const [adapter, protect] of new Map(unknown.map(([name, protect]) => [name, protect]))) {
  test(`${adapter}: protect throws on values that are no objects, and on missing ones`, () => {
    using gear = createSwitchgear({ log: 'silent', env: {} });
    for (const thing of [undefined, null, 3, 'search', true, Symbol('x')]) {
      assert.throws(() => protect(thing as never, { gear }), SwitchgearError);
    }
  });
}

/** What each adapter guards, and what its debug line names. */
const known: readonly (readonly [string, (gear: Switchgear) => unknown, RegExp])[] = [
  [
    'ai-sdk',
    (gear) => {
      const own = aiTool({ inputSchema: parameters, execute: async () => 1 });
      const others = aiTool({ inputSchema: parameters });
      return protectAi({ model, tools: { own, others } }, { gear });
    },
    /ai-sdk: 2 guarded: the model, own; not guarded, because others run them: others/,
  ],
  ['langchain', (gear) => protectLangChain({ model: chatModel, tools: [weather] }, { gear }), /the model, weather/],
  ['langgraph', (gear) => protectLangGraph([weather], { gear }), /langgraph: 1 guarded: tool weather/],
  ['langgraph', (gear) => protectLangGraph(graph.compile(), { gear }), /every run of a graph/],
  ['openai-agents', (gear) => protectRunner(new Runner(), { gear }), /openai-agents: 1 guarded: every run/],
  ['claude-agent-sdk', (gear) => protectQuery(query, { gear }), /every run of query/],
  ['mastra', (gear) => protectMastra({ ...mastraSettings, tools: { weather: {} } }, { gear }), /the model, weather/],
  ['fetch', (gear) => protectFetch(fetch, { gear }), /every request/],
  ['mcp-client', (gear) => protectClient(new Client({ name: 'a', version: '1' }), { gear }), /every tool call/],
  ['functions', (gear) => protectFunctions(new Tools(), { gear }), /functions: 1 guarded: search/],
  ['guard', (gear) => gear.guard('search', () => 1), /tool "search" is guarded/],
];

for (const [adapter, protect, line] of known) {
  test(`${adapter}: with log debug a line tells what is guarded, and with log info none`, (context) => {
    const lines: string[] = [];
    context.mock.method(process.stderr, 'write', (text: string) => lines.push(text) > 0);
    for (const log of ['info', 'debug'] as const) {
      using gear = createSwitchgear({ log, env: {} });
      protect(gear);
      if (log === 'info') assert.deepEqual(lines, []);
    }
    context.mock.restoreAll();
    assert.match(lines.join(''), line);
  });
}
