/** Type tests of LangChain's and LangGraph's adapters: compiled, never run. */

import { Annotation, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { createAgent, createMiddleware, fakeModel, tool } from 'langchain';
import { protect } from 'switchgear/adapters/langchain';
import { protect as protectGraph, supervisor } from 'switchgear/adapters/langgraph';
import { z } from 'zod';
import type { Equal, Expect } from '../equal.ts';

const model = fakeModel();
const weather = tool(({ city }) => ({ city, celsius: 21 }), {
  name: 'weather',
  schema: z.object({ city: z.string() }),
});
const responseFormat = z.object({ warm: z.boolean() });
const middleware = [createMiddleware({ name: 'mood', stateSchema: z.object({ mood: z.string() }) })] as const;

/** An agent of guarded settings has the type of one without. */
export async function agents() {
  const bare = createAgent({ model, tools: [weather], responseFormat, middleware, checkpointer: new MemorySaver() });
  const guarded = createAgent(
    protect({ model, tools: [weather], responseFormat, middleware, checkpointer: new MemorySaver() }),
  );
  const before = await bare.invoke({ messages: 'Is it warm?', mood: 'good' });
  const after = await guarded.invoke({ messages: 'Is it warm?', mood: 'good' });
  const same: [
    Expect<Equal<typeof after.structuredResponse, { warm: boolean }>>,
    Expect<Equal<typeof after.structuredResponse, typeof before.structuredResponse>>,
    Expect<Equal<typeof after.messages, typeof before.messages>>,
    Expect<Equal<typeof after.mood, string>>,
  ] = [true, true, true, true];
  return same;
}

/** Settings that are kept under a name, and those that are protected twice, are settings as well. */
export async function namedSettings() {
  const settings = protect({ model, tools: [weather], responseFormat, middleware });
  const after = await createAgent(protect(settings)).invoke({ messages: 'Is it warm?', mood: 'good' });
  const same: Expect<Equal<typeof after.mood, string>> = true;
  const mood = createMiddleware({ name: 'mood', stateSchema: z.object({ mood: z.string() }) });
  const calm = createMiddleware({ name: 'calm', stateSchema: z.object({ calm: z.boolean() }) });
  const inline = await createAgent(protect({ model, tools: [weather], middleware: [mood, calm] })).invoke({
    messages: '',
    mood: 'good',
    calm: true,
  });
  const both: Expect<Equal<[typeof inline.mood, typeof inline.calm], [string, boolean]>> = true;
  return [createAgent(settings), same, both];
}

/** A tool that is written inside `protect` has the input of its schema; inside `createAgent` it has not, by itself. */
const inlineSettings = protect({
  model,
  tools: [
    tool(
      ({ port }) => {
        const same: Expect<Equal<typeof port, string>> = true;
        return [port, same];
      },
      { name: 'tides', schema: z.object({ port: z.string() }) },
    ),
  ],
});
export const inline = [
  createAgent(inlineSettings),
  protectGraph(
    tool(
      ({ port }) => {
        const same: Expect<Equal<typeof port, string>> = true;
        return [port, same];
      },
      { name: 'tides', schema: z.object({ port: z.string() }) },
    ),
  ),
];

const tools = [weather];
const guardedTools = protectGraph(tools);
const graph = new StateGraph(MessagesAnnotation)
  .addNode('only', () => ({ messages: [] }))
  .addEdge(START, 'only')
  .compile();
const guardedGraph = protectGraph(graph);
const guard = supervisor({ workers: ['chef_team'] });
const State = Annotation.Root({ delegation_failures: Annotation(guard.failures) });

export type Same = [
  Expect<Equal<typeof guardedTools, typeof tools>>,
  Expect<Equal<typeof guardedGraph, typeof graph>>,
  Expect<Equal<typeof State.State.delegation_failures, Readonly<Record<string, number>>>>,
];

// @ts-expect-error: an option that nobody reads is an error.
protect({ model }, { worker: ['chef_team'] });
