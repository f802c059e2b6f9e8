/** What a guarded call costs beside the bare framework: `node --import ./test/adapters/hooks.ts …/overhead.ts`. */

import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { Agent, tool as openAiTool, Runner, setTracingDisabled } from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { tool as aiTool, generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { AIMessage, createAgent, fakeModel, tool } from 'langchain';
import { createSwitchgear, type Switchgear } from 'switchgear';
import { protect as protectAi } from 'switchgear/adapters/ai-sdk';
import { protect as protectLangChain } from 'switchgear/adapters/langchain';
import { protect as protectMastra } from 'switchgear/adapters/mastra';
import { protect as protectClient } from 'switchgear/adapters/mcp-client';
import { protect as protectRunner } from 'switchgear/adapters/openai-agents';
import { z } from 'zod';
import { makeAnswer } from './ai-sdk/harness.ts';

setTracingDisabled(true);

const callsPerRun = 40;
const rounds = 25;
const inputSchema = z.looseObject({});
const read = async ({ page }: Record<string, unknown>) => `page ${page}`;

/** A model that reads page after page, and then has done. */
function reader(): MockLanguageModelV4 {
  let turn = 0;
  const next = () => {
    const input = { page: turn++ };
    return makeAnswer(turn <= callsPerRun ? { calls: [{ tool: 'read', input }] } : { text: 'Done.' }, turn);
  };
  return new MockLanguageModelV4({ doGenerate: async () => next() as never });
}

/** One run of each framework, guarded where a gear is given. */
const runs: Readonly<Record<string, (gear: Switchgear | undefined) => Promise<unknown>>> = {
  async 'AI SDK 7'(gear) {
    const call = { model: reader(), tools: { read: aiTool({ inputSchema, execute: read }) } };
    const settings = gear === undefined ? call : protectAi(call, { gear });
    return generateText({ ...settings, prompt: 'Read.', stopWhen: isStepCount(100) });
  },
  async LangChain(gear) {
    const model = fakeModel();
    for (let page = 0; page < callsPerRun; page++) {
      model.respond(new AIMessage({ tool_calls: [{ name: 'read', args: { page }, id: `call-${page}` }] }));
    }
    const settings = {
      model: model.respond(new AIMessage('Done.')),
      tools: [tool(read, { name: 'read', schema: inputSchema })],
    };
    const agent = createAgent(gear === undefined ? settings : protectLangChain(settings, { gear }));
    return agent.invoke({ messages: 'Read.' }, { recursionLimit: 200 });
  },
  async 'OpenAI Agents'(gear) {
    const steps = Array.from({ length: callsPerRun }, (_, page) =>
      modelResponder(() => [functionCall('read', { page }, { callId: `call-${page}` })]),
    );
    const model = new ScriptedModel([...steps, [assistantMessage('Done.')]]);
    const parameters = { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const };
    const reading = openAiTool({
      name: 'read',
      description: '',
      parameters,
      strict: false,
      execute: (input) => read(input as never),
    });
    const runner = new Runner({ tracingDisabled: true });
    const agent = new Agent({ name: 'Reader', model, tools: [reading] });
    return (gear === undefined ? runner : protectRunner(runner, { gear })).run(agent, 'Read.', { maxTurns: 100 });
  },
  async Mastra(gear) {
    const tools = { read: createTool({ id: 'read', description: '', inputSchema, execute: read }) };
    const settings = { id: 'reader', name: 'Reader', instructions: 'Read.', model: reader() as never, tools };
    const agent = new MastraAgent(gear === undefined ? settings : protectMastra(settings, { gear }));
    return agent.generate('Read.', { maxSteps: 100 });
  },
  async 'MCP client 2.x'(gear) {
    const server = new McpServer({ name: 'shop', version: '1.0.0' });
    const content = async (input: Record<string, unknown>) => [{ type: 'text' as const, text: await read(input) }];
    server.registerTool('read', { inputSchema }, async (input) => ({ content: await content(input) }));
    const bare = new Client({ name: 'reader', version: '1.0.0' });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(far), bare.connect(near)]);
    const client = gear === undefined ? bare : protectClient(bare, { gear });
    const work = async () => {
      for (let page = 0; page < callsPerRun; page++) await client.callTool({ name: 'read', arguments: { page } });
    };
    return gear === undefined ? work() : gear.task({}, work);
  },
};

/** Processor time and not the time of day: other work on the machine does not count. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

for (const [name, run] of Object.entries(runs)) {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const bare: number[] = [];
  const guarded: number[] = [];
  for (let round = -3; round < rounds; round++) {
    // Bare and guarded in turn, so that a busy moment of the machine hits both.
    const [without, withUs] = [await timed(() => run(undefined)), await timed(() => run(gear))];
    if (round < 0) continue; // Warming up.
    bare.push(without);
    guarded.push(withUs);
  }
  const [before, after] = [median(bare), median(guarded)];
  const perCall = ((after - before) / callsPerRun) * 1000;
  const share = ((after / before - 1) * 100).toFixed(1);
  const bareCall = ((before / callsPerRun) * 1000).toFixed(0);
  console.log(`${name}: ${bareCall} µs a call bare, ${perCall.toFixed(0)} µs more guarded (${share} %)`);
}
process.exit(0);
