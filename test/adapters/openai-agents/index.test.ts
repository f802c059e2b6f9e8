/** OpenAI Agents with the SDK's own scripted model. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent, handoff, Runner, setTracingDisabled, tool, Usage } from '@openai/agents';
import {
  assistantMessage,
  functionCall,
  modelResponder,
  modelStreamResponder,
  ScriptedModel,
} from '@openai/agents/testing';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/openai-agents';
import { adapterSuite, type HostScene, type HostTranscript, type HostTurn } from 'switchgear/testing';

setTracingDisabled(true);

const parameters = { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const };

function makeAnswer({ text, calls = [], tokens = 10 }: HostTurn, turn: number) {
  return {
    usage: new Usage({ inputTokens: tokens, outputTokens: tokens, totalTokens: 2 * tokens }),
    output: [
      ...(text === undefined ? [] : [assistantMessage(text)]),
      ...calls.map((call, index) => functionCall(call.tool, { ...call.input }, { callId: `call-${turn}-${index}` })),
    ],
  };
}

function createScriptedModel({ turns, stepsMax }: Pick<HostScene, 'turns' | 'stepsMax'>): ScriptedModel {
  const step = (_: unknown, index: number) => {
    const turn = turns[Math.min(index, turns.length - 1)] ?? {};
    if (turn.chunks !== undefined) return modelStreamResponder(() => makeEvents(turn.chunks!()));
    return modelResponder(async ({ request }) => {
      await turn.wait?.(request.signal);
      return makeAnswer(turn, index);
    });
  };
  return new ScriptedModel(Array.from({ length: stepsMax }, step));
}

async function* makeEvents(chunks: AsyncIterable<string>): AsyncGenerator<never> {
  for await (const delta of chunks) yield { type: 'output_text_delta', delta } as never;
}

async function play(scene: HostScene): Promise<HostTranscript> {
  const { gear, workers = [] } = scene;
  const model = createScriptedModel(scene);
  const tools = Object.entries(scene.tools).map(([name, run]) => {
    const execute = async (input: unknown, _: unknown, details?: { signal?: AbortSignal }) =>
      String(await run(input as Record<string, unknown>, details?.signal));
    const options = { name, description: name, parameters, strict: false as const, execute };
    return tool(gear === undefined ? options : protect(options));
  });
  const agent = new Agent({ name: 'Tester', instructions: 'Go on.', model, tools });
  const bare = new Runner({ tracingDisabled: true });
  const runner = gear === undefined ? bare : protect(bare, { gear, workers });
  const options = { maxTurns: scene.stepsMax, ...(scene.signal && { signal: scene.signal }) };
  let approvalsAsked = 0;
  if (scene.turns[0]?.chunks !== undefined) {
    const streamed = await runner.run(agent, 'Go on.', { ...options, stream: true });
    for await (const _ of streamed);
    await streamed.completed;
    const { switchgear: facts } = streamed as { switchgear?: { code: HostTranscript['halt'] } };
    const answer = String(streamed.finalOutput);
    return { modelCalls: 1, toolResults: [], answer, halt: facts?.code, approvalsAsked: 0, messages: [] };
  }
  let result = await runner.run(agent, 'Go on.', options);
  while (result.interruptions.length > 0) {
    for (const item of result.interruptions) {
      approvalsAsked++;
      if (scene.answers === 'approve') result.state.approve(item);
      else result.state.reject(item);
    }
    result = await runner.run(agent, result.state, options);
  }
  const { switchgear: facts } = result as { switchgear?: { code: HostTranscript['halt'] } };
  const toolResults = result.history.flatMap((item) => {
    if (item.type !== 'function_call_result') return [];
    const output = item.output as { text?: string } | string;
    return [typeof output === 'string' ? output : String(output.text)];
  });
  return {
    modelCalls: model.calls.length,
    toolResults,
    answer: String(result.finalOutput ?? ''),
    halt: facts?.code,
    approvalsAsked,
    messages: JSON.parse(JSON.stringify(result.history, (key, value) => (key === 'id' ? undefined : value))),
  };
}

adapterSuite({ name: 'OpenAI Agents', run: play, lacks: { nests: 'a tool runs outside the task of its worker' } });

test('two agents that hand work back and forth are ended', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const turns = (to: string) => [{ calls: [{ tool: `transfer_to_${to}` }] }];
  const ping: Agent = new Agent({ name: 'Ping', model: createScriptedModel({ turns: turns('Pong'), stepsMax: 100 }) });
  const pong = new Agent({
    name: 'Pong',
    model: createScriptedModel({ turns: turns('Ping'), stepsMax: 100 }),
    handoffs: [ping],
  });
  ping.handoffs = [handoff(pong)];
  const result = await protect(new Runner({ tracingDisabled: true }), { gear }).run(ping, 'Go.', { maxTurns: 100 });
  assert.ok(
    ['tool_loop', 'tool_call_limit'].includes((result as { switchgear?: { code: string } }).switchgear?.code ?? ''),
  );
  assert.ok(result.rawResponses.length < 60, `${result.rawResponses.length} turns`);
});

test('a tool whose errors the SDK hides still opens its breaker', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const hidden = tool({
    name: 'hidden',
    description: 'Fails.',
    parameters,
    strict: false,
    execute: () => {
      throw new Error('nobody sees this');
    },
  });
  const model = createScriptedModel({ turns: [{ calls: [{ tool: 'hidden' }] }], stepsMax: 60 });
  const agent = new Agent({ name: 'Tester', model, tools: [hidden] });
  await protect(new Runner({ tracingDisabled: true }), { gear }).run(agent, 'Go.', { maxTurns: 60 });
  assert.equal(gear.breaker('hidden').stats.totalFailures, 5);
});

test('concurrent runs with equal call ids are guarded separately', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const both = Promise.withResolvers<string>();
  let out = 0;
  const execute = () => {
    if (++out === 2) both.resolve('page 1');
    return both.promise;
  };
  const read = tool({ name: 'read', description: '', parameters, strict: false, execute });
  const runner = protect(new Runner({ tracingDisabled: true }), { gear });
  const run = () => {
    const model = createScriptedModel({ turns: [{ calls: [{ tool: 'read' }] }, { text: 'Done.' }], stepsMax: 2 });
    return runner.run(new Agent({ name: 'Reader', model, tools: [read] }), 'Read.');
  };
  await Promise.all([run(), run()]);
  assert.equal(gear.breaker('read').stats.totalSuccesses, 2);
});

test('a value that is neither a runner nor a tool is an error', () => {
  assert.throws(() => protect({ name: 'Pilot' }), /takes a Runner, or the options of a tool/);
});
