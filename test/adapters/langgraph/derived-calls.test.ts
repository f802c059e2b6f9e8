/** Every way to call a protected model, tool or graph is guarded: sequences, batches, events, bindings. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AIMessage, type AIMessageChunk } from '@langchain/core/messages';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { RunnableLambda } from '@langchain/core/runnables';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { tool } from 'langchain';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/langgraph';
import { z } from 'zod';

/** A model that counts its calls, whole or streamed. */
class CountingModel extends FakeListChatModel {
  calls = 0;
  override bindTools() {
    return this.withConfig({ tags: ['with tools'] }) as never;
  }
  override async _generate(...args: Parameters<FakeListChatModel['_generate']>) {
    this.calls++;
    return super._generate(...args);
  }
  override async *_streamResponseChunks(...args: Parameters<FakeListChatModel['_streamResponseChunks']>) {
    this.calls++;
    yield* super._streamResponseChunks(...args);
  }
}

const prompt = ChatPromptTemplate.fromMessages([['human', '{question}']]);
const input = { question: 'When is high tide?' };
const question = 'When is high tide?';
const shout = RunnableLambda.from((message: AIMessage | AIMessageChunk) => message.text);

async function readAll(chunks: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>): Promise<void> {
  for await (const _ of await chunks);
}

const ways: Record<string, (model: CountingModel) => unknown> = {
  invoke: (model) => model.invoke(question),
  stream: async (model) => readAll(model.stream(question)),
  batch: (model) => model.batch([question]),
  generate: (model) => model.generate([[new AIMessage(question)]]),
  generatePrompt: async (model) => model.generatePrompt([await prompt.invoke(input)]),
  streamEvents: (model) => readAll(model.streamEvents(question, { version: 'v2' })),
  'streamEvents of version 1': (model) => readAll(model.streamEvents(question, { version: 'v1' })),
  // A stream that is also a promise of the whole message.
  'streamEvents of content blocks': async (model) => {
    for await (const _ of model.streamEvents(question) as never as AsyncIterable<unknown>);
  },
  streamLog: (model) => readAll(model.streamLog(question)),
  'prompt.pipe(model).invoke': (model) => prompt.pipe(model).invoke(input),
  'prompt.pipe(model).stream': (model) => readAll(prompt.pipe(model).stream(input)),
  'prompt.pipe(model).batch': (model) => prompt.pipe(model).batch([input]),
  'prompt.pipe(model).streamEvents': (model) => readAll(prompt.pipe(model).streamEvents(input, { version: 'v2' })),
  'model.pipe().invoke': (model) => model.pipe(shout).invoke(question),
  'model.pipe().stream': (model) => readAll(model.pipe(shout).stream(question)),
  'prompt.pipe(model).pipe().stream': (model) => readAll(prompt.pipe(model).pipe(shout).stream(input)),
  withRetry: (model) => model.withRetry({ stopAfterAttempt: 1 }).invoke(question),
  withFallbacks: (model) => model.withFallbacks([model]).invoke(question),
  'withConfig().batch': (model) => model.withConfig({ tags: ['a'] }).batch([question]),
  'withConfig().pipe().stream': (model) =>
    readAll(
      model
        .withConfig({ tags: ['a'] })
        .pipe(shout)
        .stream(question),
    ),
  'prompt.pipe(bound).stream': (model) => readAll(prompt.pipe(model.bindTools() as CountingModel).stream(input)),
  'bound.streamEvents': (model) =>
    readAll((model.bindTools() as CountingModel).streamEvents(question, { version: 'v2' })),
  'bound.withRetry().invoke': (model) => (model.bindTools() as CountingModel).withRetry().invoke(question),
  withStructuredOutput: (model) => model.withStructuredOutput(z.object({ hour: z.number() })).invoke(question),
};

for (const [title, use] of Object.entries(ways)) {
  test(`a protected model is guarded by ${title}`, async () => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    const raw = new CountingModel({ responses: ['{"hour":3}'] });
    const model = protect(raw, { gear });
    const { value } = await gear.task({}, async (task) => {
      await use(model);
      return task.snapshot();
    });
    assert.equal(raw.calls, 1);
    assert.ok((value?.tokens ?? 0) > 0, 'the tokens of the call are counted');
    await gear.task({ id: 'halted' }, async () => {
      gear.halt('halted', 'enough');
      await Promise.resolve(use(model)).catch(() => {});
    });
    assert.equal(raw.calls, 1, 'the call in a halted task does not reach the model');
  });
}

test('a protected tool is guarded in a sequence, a batch, a stream and a binding', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  let calls = 0;
  const run = ({ page }: { page: number }) => `page ${page} ${++calls}`;
  const read = protect(tool(run, { name: 'read', schema: z.object({ page: z.number() }) }), { gear });
  const page = RunnableLambda.from((at: number) => ({ page: at }));
  const uses = [
    () => read.batch([{ page: 1 }]),
    async () => readAll(read.stream({ page: 2 })),
    () => page.pipe(read).invoke(3),
    () => readAll(page.pipe(read).stream(4)),
    () => read.withConfig({ tags: ['a'] }).invoke({ page: 5 }),
    () => read.withRetry({ stopAfterAttempt: 1 }).invoke({ page: 6 }),
    () => read.call({ page: 7 }),
  ];
  const { value } = await gear.task({}, async (task) => {
    for (const use of uses) await use();
    return task.snapshot().toolCalls;
  });
  assert.deepEqual([calls, value], [uses.length, uses.length]);
  await gear.task({ id: 'halted' }, async () => {
    gear.halt('halted', 'enough');
    for (const use of uses) await Promise.resolve(use()).catch(() => {});
  });
  assert.equal(calls, uses.length);
});

test('a protected graph is one task in a sequence, a batch, its events and after withConfig', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const model = protect(new CountingModel({ responses: ['At three.'] }), { gear });
  const tasks: (string | undefined)[] = [];
  const node = async ({ messages }: typeof MessagesAnnotation.State) => {
    tasks.push(gear.currentTask()?.id);
    return { messages: [await model.invoke(messages)] };
  };
  const built = new StateGraph(MessagesAnnotation).addNode('reply', node).addEdge(START, 'reply').compile();
  const graph = protect(built, { gear });
  const state = { messages: question };
  const start = RunnableLambda.from((text: string) => ({ messages: text }));
  const uses = [
    () => graph.batch([state]),
    () => readAll(start.pipe(graph as never).stream(question)),
    () => start.pipe(graph as never).invoke(question),
    () => readAll(graph.streamEvents(state, { version: 'v2' })),
    async () => readAll((await graph.streamEvents(state, { version: 'v3' })) as never),
    () => graph.withConfig({ tags: ['a'] }).invoke(state),
    () => readAll(graph.withConfig({ tags: ['a'] }).stream(state)),
    () => graph.pipe(RunnableLambda.from(() => 'over')).invoke(state),
  ];
  for (const use of uses) await use();
  assert.ok(!tasks.includes(undefined), tasks.join());
  assert.equal(new Set(tasks).size, uses.length);
  assert.equal(gear.journal().filter(({ type }) => type === 'task-ended').length, uses.length);
});
