/** Mastra's agents, on the mock model of the AI SDK. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { MockLanguageModelV4 } from 'ai/test';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/mastra';
import { adapterSuite, type HostScene, type HostTranscript } from 'switchgear/testing';
import { z } from 'zod';
import { collectToolResults, type ModelParams, makeAnswer, makeEndlessParts } from '../ai-sdk/harness.ts';

const inputSchema = z.looseObject({});
const about = { id: 'tester', name: 'tester', instructions: 'Go on.' };

async function play(scene: HostScene): Promise<HostTranscript> {
  let modelCalls = 0;
  const toolResults = new Map<string, string>();
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt, abortSignal }) => {
      collectToolResults(prompt as ModelParams['prompt'], toolResults);
      const turn = scene.turns[Math.min(modelCalls, scene.turns.length - 1)] ?? {};
      const answer = makeAnswer(turn, ++modelCalls);
      await turn.wait?.(abortSignal);
      return answer as never;
    },
    doStream: async () => ({ stream: ReadableStream.from(makeEndlessParts(scene.turns[0]!.chunks!)) }) as never,
  });
  const tools = Object.fromEntries(
    Object.entries(scene.tools).map(([name, run]) => {
      const execute = async (input: Record<string, unknown>, context?: { abortSignal?: AbortSignal }) =>
        String(await run(input, context?.abortSignal));
      return [name, createTool({ id: name, description: name, inputSchema, execute })];
    }),
  );
  const settings = { ...about, model: model as never, tools };
  const { gear, workers = [] } = scene;
  const agent = new Agent(gear === undefined ? settings : protect(settings, { gear, workers }));
  const options = { maxSteps: scene.stepsMax, ...(scene.signal && { abortSignal: scene.signal }) };
  const isStreamed = scene.turns[0]?.chunks !== undefined;
  const result = isStreamed
    ? await (await agent.stream('Go on.', options)).getFullOutput()
    : await agent.generate('Go on.', options);
  const facts = result.tripwire?.metadata as { switchgear?: { code: HostTranscript['halt'] } } | undefined;
  collectToolResults((result.response.messages ?? []) as ModelParams['prompt'], toolResults);
  return {
    modelCalls,
    toolResults: [...toolResults.values()],
    answer: result.tripwire?.reason ?? result.steps.at(-1)?.text ?? '',
    halt: facts?.switchgear?.code,
    approvalsAsked: 0,
    messages: result.steps.map(({ text, toolCalls, finishReason }) => ({
      text,
      calls: toolCalls.map(({ payload }) => [payload.toolName, payload.args]),
      finishReason,
    })),
  };
}

const asks = 'Mastra has no way to ask a person within a run: the approver of the gear does';
const nests = 'a tool runs outside the task of its worker';
const throws = 'Mastra makes an error of its own of what a processor throws: its tripwire holds the halt';

adapterSuite({ name: 'Mastra', run: play, lacks: { asks, nests, throws } });

test('user-defined hooks and processors stay in place', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const seen: string[] = [];
  const model = new MockLanguageModelV4({ doGenerate: async () => makeAnswer({ text: 'Hello.' }, 1) as never });
  const settings = {
    ...about,
    model,
    hooks: { beforeToolCall: () => void seen.push('before') },
    inputProcessors: [{ id: 'mine', processInputStep: () => void seen.push('step') }],
  };
  const { text } = await new Agent(protect(settings as never, { gear }) as never).generate('Hello?');
  assert.equal(text, 'Hello.');
  assert.deepEqual(seen, ['step']);
});
