/** What the AI SDK has that other hosts have not: tools that stream, results that are errors, models by name. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynamicTool, generateText, isStepCount, streamText, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createSwitchgear, RefusedError } from 'switchgear';
import { protect } from 'switchgear/adapters/ai-sdk';
import { simulatedClock } from 'switchgear/testing';
import { z } from 'zod';
import { makeStreamParts } from './harness.ts';

const inputSchema = z.object({});
const quiet = { log: 'silent', env: {} } as const;

type Answers = NonNullable<ConstructorParameters<typeof MockLanguageModelV4>[0]>;
type Answer = Extract<NonNullable<Answers['doGenerate']>, { content: unknown }>;

const cost = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

function says(text: string): Answer {
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: cost,
    warnings: [],
  };
}

function calls(toolName: string, toolCallId = toolName): Answer {
  const content = [{ type: 'tool-call' as const, toolCallId, toolName, input: '{}' }];
  return { content, finishReason: { unified: 'tool-calls', raw: undefined }, usage: cost, warnings: [] };
}

/** A model that gives these answers, and the last one for ever. */
function scripted(...answers: readonly Answer[]): MockLanguageModelV4 {
  let turn = 0;
  const next = () => answers[Math.min(turn++, answers.length - 1)] ?? says('');
  return new MockLanguageModelV4({
    doGenerate: async () => next(),
    doStream: async () => ({ stream: ReadableStream.from(makeStreamParts(next())) as never }),
  });
}

async function* counting(): AsyncGenerator<string> {
  yield 'one';
  yield 'two';
  yield 'three';
}

for (const [title, execute] of [
  ['a tool that is a generator', counting],
  ['a tool that returns a stream', () => counting()],
] as const) {
  test(`${title} streams the same preliminary and final results as without Switchgear`, async () => {
    const play = async (guard: <T extends { model: unknown; tools: unknown }>(call: T) => T) => {
      const call = guard({
        model: scripted(calls('count'), says('Done.')),
        tools: { count: tool({ inputSchema, execute }) },
      });
      const seen: unknown[] = [];
      for await (const part of streamText({ ...call, prompt: 'Count.', stopWhen: isStepCount(5) }).fullStream) {
        if (part.type === 'tool-result') seen.push([part.output, part.preliminary === true]);
      }
      return seen;
    };
    const gear = createSwitchgear(quiet);
    const bare = await play((call) => call);
    assert.deepEqual(await play((call) => protect(call, { gear })), bare);
    assert.equal(bare.length, 4);
    assert.equal(gear.breaker('count').stats.totalSuccesses, 1);
  });
}

test('a stream that ends with an error is one failure of its tool', async () => {
  const gear = createSwitchgear(quiet);
  const execute = async function* () {
    yield 'one';
    throw new Error('no more');
  };
  const call = protect(
    { model: scripted(calls('count'), says('Done.')), tools: { count: tool({ inputSchema, execute }) } },
    { gear },
  );
  const { text } = await generateText({ ...call, prompt: 'Count.', stopWhen: isStepCount(5) });
  assert.equal(text, 'Done.');
  assert.equal(gear.breaker('count').stats.totalFailures, 1);
});

test('results marked as errors, such as those of MCP tools, open the breaker', async () => {
  const gear = createSwitchgear(quiet);
  const down = dynamicTool({
    inputSchema,
    execute: async () => ({ isError: true, content: [{ type: 'text', text: 'down' }] }),
  });
  const call = protect({ model: scripted(calls('down')), tools: { down } }, { gear });
  await generateText({ ...call, prompt: 'Go on.', stopWhen: isStepCount(20) });
  assert.equal(gear.breaker('down').state, 'OPEN');
  assert.equal(gear.breaker('down').stats.totalFailures, 5);
});

test('calls rejected by the SDK itself are counted, and a loop of rejected calls is halted', async () => {
  const gear = createSwitchgear(quiet);
  const call = protect(
    { model: scripted(calls('nothing')), tools: { read: tool({ inputSchema, execute: () => 'page' }) } },
    { gear },
  );
  const { steps } = await generateText({ ...call, prompt: 'Go on.', stopWhen: isStepCount(60) });
  assert.ok(steps.length < 30, `${steps.length} steps`);
  assert.equal(call.halt?.control, 'loop');
});

test('a direct call of execute is refused if a rule requires confirmation', async () => {
  const policy = { rules: [{ target: 'tool:pay', condition: 'ability:pay', action: 'confirm' as const }] };
  const gear = createSwitchgear({ ...quiet, policy });
  let paid = 0;
  const { tools } = protect({ tools: { pay: tool({ inputSchema, execute: () => ++paid }) } }, { gear });
  const options = { toolCallId: 'x', messages: [], context: {} };
  await assert.rejects(async () => tools.pay.execute?.({}, options as never), RefusedError);
  assert.equal(paid, 0);
});

test('a model given as a string is an error that says how to pass a model object', () => {
  assert.throws(() => protect({ model: 'openai/gpt-5' }), /needs a model object, got "openai\/gpt-5".*gateway/);
});

test('a provider error is rethrown unchanged, and consecutive errors open the breaker of the model', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ ...quiet, clock });
  const broken = new RangeError('overloaded');
  let asked = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      asked++;
      throw broken;
    },
  });
  const ask = () => generateText({ ...protect({ model }, { gear }), prompt: 'Hello', maxRetries: 0 });
  for (let attempt = 0; attempt < 5; attempt++) await assert.rejects(ask(), (error) => error === broken);
  await assert.rejects(ask(), { name: 'CircuitBreakerOpen' });
  assert.equal(asked, 5);
  clock.advance(60_000);
  await assert.rejects(ask(), (error) => error === broken);
});

test('the tokens of the final answer of a halted run are counted', async () => {
  const gear = createSwitchgear({ ...quiet, policy: { task: { max_tool_calls: 1 } } });
  const task = gear.startTask();
  const model = scripted(calls('read', 'a'), calls('read', 'b'), says('So far, so good.'));
  const call = protect({ model, tools: { read: tool({ inputSchema, execute: () => 'page' }) } }, { gear, task });
  const { text, providerMetadata } = await generateText({ ...call, prompt: 'Go on.', stopWhen: isStepCount(60) });
  assert.equal(text, 'So far, so good.');
  assert.equal(providerMetadata?.switchgear?.code, 'tool_call_limit');
  assert.equal(task.snapshot().tokens, 60);
});

test('the task of a run stopped by the step limit of the SDK is removed later without a halt card', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ ...quiet, clock });
  const call = protect(
    { model: scripted(calls('read')), tools: { read: tool({ inputSchema, execute: () => 'page' }) } },
    { gear },
  );
  await generateText({ ...call, prompt: 'Go on.', stopWhen: isStepCount(2) });
  assert.equal(gear.snapshot().tasks.length, 1);
  clock.advance(3_600_000);
  assert.equal(gear.snapshot().tasks.length, 0);
  assert.deepEqual(gear.snapshot().cards, []);
});
