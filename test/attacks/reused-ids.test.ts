/** A model that gives several calls one id, also at the same time: in frameworks each counts, and each settles. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protect as protectAiSdk } from '../../src/adapters/ai-sdk/index.ts';
import { createClaudeHooks } from '../../src/adapters/claude-agent-sdk/hooks.ts';
import { protect as protectLangChain } from '../../src/adapters/langchain/index.ts';
import { protect as protectMastra } from '../../src/adapters/mastra/index.ts';
import { guardTool } from '../../src/adapters/openai-agents/tool.ts';
import { createSwitchgear, type Switchgear } from '../../src/index.ts';
import { promisesSettled } from '../../src/testing/index.ts';

const quiet = { log: 'silent', env: {} } as const;
const inputs = [{ page: 1 }, { page: 2 }, { page: 3 }];

function start(policy: object = {}) {
  const gear = createSwitchgear({ ...quiet, policy });
  return { gear, task: gear.startTask({ id: 't' }) };
}

/** Calls, successes and calls in flight of the only tool. */
function countsOf(gear: Switchgear): readonly unknown[] {
  const tools = gear.snapshot().breakers.filter(({ name }) => name === 'read');
  return tools.map(({ totalRequests, totalSuccesses, inFlight }) => [totalRequests, totalSuccesses, inFlight]);
}

const usage = { inputTokens: 1, outputTokens: 1 };
const content = [{ type: 'tool-call', toolCallId: 'call_0', toolName: 'read', input: '{}' }];
const doGenerate = async () => ({ content, finishReason: 'tool-calls', usage, warnings: [] });
/** A model of the AI SDK that always calls a tool. */
const bareModel = { specificationVersion: 'v2', provider: 'p', modelId: 'm', doGenerate, doStream: doGenerate };

test('attack 23: open calls with one id count and settle in the AI SDK', async () => {
  const { gear, task } = start();
  const ends: (() => void)[] = [];
  const execute = () => new Promise<string>((resolve) => ends.push(() => resolve('page')));
  const { tools } = protectAiSdk({ model: bareModel, tools: { read: { execute } } } as never, {
    gear,
    task,
  }) as unknown as {
    readonly tools: { readonly read: { execute(input: unknown, options: object): Promise<unknown> } };
  };
  const running = inputs.map((input) => tools.read.execute(input, { toolCallId: 'call_0', messages: [] }));
  for (const end of ends) end();
  await Promise.all(running);
  assert.equal(task.snapshot().toolCalls, 3);
  assert.deepEqual(countsOf(gear), [[3, 3, 0]]);
});

test('attack 23: calls with one id that run elsewhere count in the AI SDK, decided ones once', async () => {
  const { gear, task } = start();
  const call = (input: object) => ({ type: 'tool-call', toolCallId: 'call_0', toolName: 'read', input });
  const result = { type: 'tool-result', toolCallId: 'call_0', toolName: 'read', output: { type: 'text', value: 'p' } };
  const { model, tools } = protectAiSdk(
    { model: bareModel, tools: { own: { execute: async () => 'page' } } } as never,
    {
      gear,
      task,
    },
  ) as unknown as {
    readonly model: { doGenerate(params: object): Promise<unknown> };
    readonly tools: { readonly own: { execute(input: unknown, options: object): Promise<unknown> } };
  };
  const prompt: object[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }];
  const turn = async (calls: readonly object[]) => {
    prompt.push({ role: 'assistant', content: calls.map(call) }, { role: 'tool', content: calls.map(() => result) });
    const params = { prompt: [...prompt] };
    await model.doGenerate(params);
    await model.doGenerate(params); // The SDK tries again.
    return task.snapshot().toolCalls;
  };
  await model.doGenerate({ prompt: [...prompt] });
  assert.equal(await turn([{ page: 1 }]), 1);
  assert.equal(await turn([{ page: 2 }, { page: 3 }]), 3);
  await tools.own.execute({}, { toolCallId: 'call_0', messages: [] });
  assert.equal(await turn([{ page: 4 }]), 4);
  assert.equal(await turn([{ page: 5 }]), 5);
});

test('attack 23: open calls with one id count and settle in Mastra, each with its own result', async () => {
  const { gear, task } = start();
  const settings = protectMastra({ name: 'tester', model: 'm', tools: {} } as never, { gear, task });
  const { hooks } = settings as unknown as {
    readonly hooks: Readonly<Record<'beforeToolCall' | 'afterToolCall', (call: object) => Promise<unknown>>>;
  };
  for (const context of [{ toolCallId: 'call_0', requestContext: {} }, { requestContext: {} }]) {
    const calls = inputs.map((input) => ({ toolName: 'read', input, context }));
    for (const call of calls) await hooks.beforeToolCall(call);
    for (const call of calls.toReversed()) await hooks.afterToolCall({ ...call, output: 'page' });
  }
  await promisesSettled();
  assert.equal(task.snapshot().toolCalls, 6);
  assert.deepEqual(countsOf(gear), [[6, 6, 0]]);
});

test('attack 23: open calls with one id count and settle in the Claude Agent SDK', async () => {
  const { gear, task } = start();
  const { hooks } = createClaudeHooks(gear, task);
  const send = (event: string, input: object) => {
    const { hooks: list } = hooks[event] as { hooks: ((input: object, id: string) => Promise<object>)[] };
    return list[0]!(input, 'call_0');
  };
  const calls = inputs.map((input) => ({ tool_name: 'read', tool_input: input }));
  for (const call of calls) await send('PreToolUse', call);
  for (const call of calls) await send('PostToolUse', { ...call, tool_response: 'page' });
  await promisesSettled();
  assert.equal(task.snapshot().toolCalls, 3);
  assert.deepEqual(countsOf(gear), [[3, 3, 0]]);
});

test('attack 23: approved calls and workers with one id count in the Claude Agent SDK', async () => {
  const rules = [{ target: 'read', condition: 'ability:read', action: 'confirm' }];
  const { gear, task } = start({ rules });
  const { hooks, settleUnfinished } = createClaudeHooks(gear, task);
  const send = (event: string, input: object) => {
    const { hooks: list } = hooks[event] as { hooks: ((input: object, id: string) => Promise<object>)[] };
    return list[0]!(input, 'call_0');
  };
  for (const input of inputs) {
    const call = { tool_name: 'read', tool_input: input };
    assert.match(JSON.stringify(await send('PreToolUse', call)), /"ask"/);
    await send('PostToolUse', { ...call, tool_response: 'page' });
  }
  assert.equal(task.snapshot().toolCalls, 3);
  const sent = ['one', 'two'].map((prompt) => ({
    tool_name: 'Agent',
    tool_input: { subagent_type: 'scout', prompt },
  }));
  for (const call of sent) await send('PreToolUse', call);
  for (const call of sent) await send('PostToolUse', { ...call, tool_response: 'found' });
  await promisesSettled();
  assert.deepEqual(
    gear.snapshot().tasks.map(({ id }) => id),
    ['t'],
  );
  settleUnfinished();
});

test('attack 23: open calls with one id count and settle in OpenAI Agents; a repeated check counts once', async () => {
  const { gear, task } = start();
  const context = { gear, calls: new Map(), errors: new Map(), signals: new WeakMap(), workers: [] };
  const invoke = async (_: unknown, input: unknown) => `result of ${input}`;
  const guarded = guardTool({ type: 'function', name: 'read', invoke }, context) as {
    readonly invoke: (context: unknown, input: unknown, details: object) => Promise<unknown>;
    readonly inputGuardrails: readonly { run(input: object): Promise<unknown> }[];
    readonly outputGuardrails: readonly { run(input: object): Promise<unknown> }[];
  };
  await task.run(async () => {
    const calls = inputs.map((input) => ({ callId: 'call_0', arguments: JSON.stringify(input) }));
    for (const toolCall of [...calls, calls[0]]) await guarded.inputGuardrails[0]?.run({ toolCall });
    for (const toolCall of calls) {
      const output = await guarded.invoke({}, toolCall.arguments, { toolCall });
      assert.equal(output, `result of ${toolCall.arguments}`);
      await guarded.outputGuardrails[0]?.run({ toolCall, output });
    }
  });
  await promisesSettled();
  assert.equal(task.snapshot().toolCalls, 3);
  assert.deepEqual(countsOf(gear), [[3, 3, 0]]);
});

test('attack 23: open calls with one id count and settle in LangChain', async () => {
  const { gear, task } = start();
  const { middleware } = protectLangChain({ model: 'm' }, { gear, task }) as unknown as {
    readonly middleware: readonly { wrapToolCall(request: object, handler: () => unknown): Promise<unknown> }[];
  };
  const ends: (() => void)[] = [];
  const handler = () => new Promise((resolve) => ends.push(() => resolve({ content: 'page' })));
  const running = inputs.map((args) => {
    const request = { toolCall: { id: 'call_0', name: 'read', args }, state: { messages: [] }, runtime: {}, tool: {} };
    return middleware[0]!.wrapToolCall(request, handler);
  });
  await promisesSettled();
  for (const end of ends) end();
  await Promise.all(running);
  assert.equal(task.snapshot().toolCalls, 3);
  assert.deepEqual(countsOf(gear), [[3, 3, 0]]);
});
