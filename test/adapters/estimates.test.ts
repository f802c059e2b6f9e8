/** Model calls whose usage is hidden or broken off are estimated, marked as such, and told once, in every framework. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { Agent, Runner, setTracingDisabled } from '@openai/agents';
import { generateText, streamText } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createAgent } from 'langchain';
import { createSwitchgear, type Switchgear } from 'switchgear';
import { protect as protectAiSdk } from 'switchgear/adapters/ai-sdk';
import { protect as protectQuery } from 'switchgear/adapters/claude-agent-sdk';
import { protect as protectFetch } from 'switchgear/adapters/fetch';
import { protect as protectLangChain } from 'switchgear/adapters/langchain';
import { protect as protectLangGraph } from 'switchgear/adapters/langgraph';
import { protect as protectMastra } from 'switchgear/adapters/mastra';
import { protect as protectRunner } from 'switchgear/adapters/openai-agents';

setTracingDisabled(true);

const words = 'word '.repeat(800); // 4000 characters, 1000 tokens

/** Plays a run inside a task, and tells its money and its lines. */
async function meter(run: (gear: Switchgear, halt: () => void) => Promise<unknown>) {
  const lines: string[] = [];
  const gear = createSwitchgear({ env: {}, log: (line) => lines.push(line) });
  const stop = new AbortController();
  const task = gear.startTask({ signal: stop.signal });
  await task.run(() => run(gear, () => stop.abort()));
  const { tokens, spendUsd, estimatedUsd } = task.snapshot();
  const told = gear.journal().filter(({ type }) => type === 'usage-estimated');
  return { tokens, spendUsd, estimatedUsd, told, lines: lines.filter((line) => /estimated/.test(line)) };
}

type Metered = Awaited<ReturnType<typeof meter>>;

function checkEstimate({ tokens, spendUsd, estimatedUsd, told, lines }: Metered, cause: 'hidden' | 'cut', from = 1000) {
  assert.ok(tokens >= from && tokens < 3 * from, `${tokens} tokens`);
  assert.ok(spendUsd > 0);
  assert.equal(estimatedUsd, spendUsd);
  assert.deepEqual(
    told.map((entry) => Reflect.get(entry, 'cause')),
    [cause],
  );
  assert.equal(lines.length, 1, lines.join('\n'));
  if (cause === 'hidden')
    assert.match(lines[0] ?? '', /reported no usage, so its tokens are estimated: (set|return|use)/);
}

const noUsage = { inputTokens: { total: undefined }, outputTokens: { total: undefined } };

/** A model of the AI SDK that writes the words, then ends without usage, or never. */
function silentModel(isEndless: boolean): MockLanguageModelV4 {
  const finish = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: noUsage };
  async function* parts(): AsyncGenerator<object> {
    yield { type: 'stream-start', warnings: [] };
    yield { type: 'text-start', id: '1' };
    yield { type: 'text-delta', id: '1', delta: words };
    if (isEndless) await new Promise(() => {});
    yield { type: 'text-end', id: '1' };
    yield finish;
  }
  const content = [{ type: 'text', text: words }];
  return new MockLanguageModelV4({
    modelId: 'gpt-4o',
    doGenerate: async () => ({ content, finishReason: finish.finishReason, usage: noUsage, warnings: [] }) as never,
    doStream: async () => ({ stream: ReadableStream.from(parts()) }) as never,
  });
}

test('AI SDK: hidden usage is estimated, and told once for two calls', async () => {
  const told = await meter(async (gear) => {
    const guarded = protectAiSdk({ model: silentModel(false) }, { gear });
    await generateText({ ...guarded, prompt: 'Go on.' });
    await streamText({ ...guarded, prompt: 'Go on.' }).consumeStream();
  });
  checkEstimate(told, 'hidden', 2000);
});

test('AI SDK: a stream that its reader leaves is estimated', async () => {
  const told = await meter(async (gear) => {
    const stop = new AbortController();
    const guarded = protectAiSdk({ model: silentModel(true) }, { gear });
    const { textStream } = streamText({ ...guarded, prompt: 'Go on.', abortSignal: stop.signal, onError: () => {} });
    for await (const _ of textStream) stop.abort();
  });
  checkEstimate(told, 'cut');
});

test('Mastra: hidden usage is estimated', async () => {
  const told = await meter(async (gear) => {
    const settings = { id: 'a', name: 'a', instructions: 'Go on.', model: silentModel(false) as never };
    const agent = new MastraAgent(protectMastra(settings, { gear }));
    await agent.generate('Go on.');
    await (await agent.stream('Go on.')).consumeStream();
  });
  checkEstimate(told, 'hidden', 2000);
});

test('Mastra: a stream that the halt of its task cuts, and one that is cancelled, are estimated', async () => {
  for (const how of ['halt', 'cancel']) {
    const told = await meter(async (gear, halt) => {
      const settings = { id: 'a', name: 'a', instructions: 'Go on.', model: silentModel(true) as never };
      const stop = new AbortController();
      const agent = new MastraAgent(protectMastra(settings, { gear }));
      const streamed = await agent.stream('Go on.', { abortSignal: stop.signal });
      for await (const text of streamed.textStream) {
        if (text.startsWith('word')) how === 'halt' ? halt() : stop.abort();
      }
    });
    checkEstimate(told, 'cut');
  }
});

/** A chat model that writes the words in parts, without usage, and may hang in the middle. */
class SilentModel extends FakeListChatModel {
  isEndless = false;
  model = 'gpt-4o';
  override bindTools(): never {
    return this as never;
  }
  override async _generate(_: BaseMessage[]): Promise<ChatResult> {
    return { generations: [{ text: words, message: new AIMessage(words) }] };
  }
  override async *_streamResponseChunks(
    _: BaseMessage[],
    options: this['ParsedCallOptions'],
    manager?: { handleLLMNewToken(text: string): Promise<void> },
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const text of [words.slice(0, 2000), words.slice(2000)]) {
      yield new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      await manager?.handleLLMNewToken(text);
    }
    if (!this.isEndless) return;
    const { signal } = options as { readonly signal?: AbortSignal };
    await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  }
}

function silentChat(isEndless = false): SilentModel {
  return Object.assign(new SilentModel({ responses: [''] }), { isEndless });
}

test('LangChain: hidden usage is estimated', async () => {
  const told = await meter(async (gear) => {
    const agent = createAgent(protectLangChain({ model: silentChat(), tools: [] }, { gear }) as never);
    await agent.invoke({ messages: 'Go on.' } as never);
  });
  checkEstimate(told, 'hidden');
});

test('LangChain: a stream that breaks off is estimated, by a halt and by a cancel', async () => {
  for (const how of ['halt', 'cancel']) {
    const told = await meter(async (gear, halt) => {
      const stop = new AbortController();
      const agent = createAgent(protectLangChain({ model: silentChat(true), tools: [] }, { gear }) as never);
      const chunks = await agent.stream(
        { messages: 'Go on.' } as never,
        { streamMode: 'messages', signal: stop.signal } as never,
      );
      let seen = 0;
      try {
        for await (const _ of chunks) if (++seen === 2) how === 'halt' ? halt() : stop.abort();
      } catch {
        // The cancelled stream ends with an error.
      }
      await new Promise(setImmediate);
    });
    checkEstimate(told, 'cut');
  }
});

test('LangGraph: hidden usage of a model is estimated, whole and streamed, and its chunks pass unchanged', async () => {
  const told = await meter(async (gear) => {
    const model = protectLangGraph(silentChat(), { gear });
    await model.invoke([new HumanMessage('Go on.')]);
    let text = '';
    for await (const chunk of await model.stream([new HumanMessage('Go on.')])) text += chunk.text;
    assert.equal(text, words);
  });
  checkEstimate(told, 'hidden', 2000);
});

test('LangGraph: a stream of a model that breaks off is estimated, and a halt ends it with the reason', async () => {
  for (const how of ['halt', 'leave']) {
    let last: AIMessageChunk | undefined;
    const told = await meter(async (gear, halt) => {
      const model = protectLangGraph(silentChat(true), { gear });
      let seen = 0;
      for await (const chunk of await model.stream([new HumanMessage('Go on.')])) {
        last = chunk as AIMessageChunk;
        if (++seen !== 2) continue;
        if (how === 'leave') break;
        halt();
      }
      await new Promise(setImmediate);
    });
    checkEstimate(told, 'cut');
    if (how === 'halt') assert.equal(Object(last?.response_metadata.switchgear).code, 'cancelled');
  }
});

test('LangGraph: a node without configuration keeps the callbacks and the signal of its graph', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const asking = protectLangGraph(silentChat(true), { gear });
  const stop = new AbortController();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('ask', async ({ messages }) => ({ messages: [await asking.invoke(messages)] }))
    .addEdge(START, 'ask')
    .compile();
  let text = '';
  await assert.rejects(async () => {
    const input = { messages: [new HumanMessage('Go on.')] };
    for await (const [chunk] of await graph.stream(input, { streamMode: 'messages', signal: stop.signal })) {
      text += chunk.text;
      if (text.length >= words.length) stop.abort();
    }
  });
  assert.equal(text, words);
});

test('OpenAI Agents: hidden usage is estimated', async () => {
  const told = await meter(async (gear) => {
    const output = [
      { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: words }] },
    ];
    const model = { model: 'gpt-4o', getResponse: async () => ({ output }), getStreamedResponse: () => [] };
    const agent = new Agent({ name: 'Pilot', model: model as never });
    const guarded = protectRunner(new Runner({ tracingDisabled: true }), { gear });
    await guarded.run(agent, 'Go on.').catch(() => {}); // The SDK itself needs a usage.
  });
  checkEstimate(told, 'hidden');
});

test('fetch: hidden usage is estimated with the setting to write, and a body that its reader leaves', async () => {
  for (const cause of ['hidden', 'cut'] as const) {
    const told = await meter(async (gear) => {
      const chunk = { model: 'gpt-4o', choices: [{ index: 0, delta: { content: words } }] };
      const body = `data: ${JSON.stringify(chunk)}\n\n`;
      const send = protectFetch(async () => new Response(body), { gear });
      const response = await (send as typeof fetch)('https://example.com', {
        method: 'POST',
        body: JSON.stringify({ model: 'gpt-4o' }),
      });
      if (cause === 'hidden') await response.text();
      else for await (const _ of response.body as unknown as AsyncIterable<unknown>) break;
    });
    checkEstimate(told, cause);
    if (cause === 'hidden') assert.match(told.lines[0] ?? '', /include_usage: true/);
  }
});

const message = (usage: object) => ({
  type: 'assistant',
  message: { id: 'm', model: 'claude-sonnet-4', content: [{ type: 'text', text: words }], ...usage },
});

const streamed = [
  {
    type: 'stream_event',
    event: {
      type: 'message_start',
      message: { id: 'm', model: 'claude-sonnet-4', usage: { input_tokens: 10, output_tokens: 1 } },
    },
  },
  {
    type: 'stream_event',
    event: { type: 'content_block_delta', delta: { type: 'text_delta', text: words } },
  },
];

function playQuery(gear: Switchgear, messages: readonly object[]): AsyncIterable<object> {
  const query = async function* (_: { prompt: string }) {
    yield* messages;
  };
  return protectQuery(query, { gear })({ prompt: 'Go on.' });
}

test('Claude Agent SDK: a message without usage is estimated, and so is a streamed one that breaks off', async () => {
  const hidden = await meter(async (gear) => {
    for await (const _ of playQuery(gear, [message({}), { type: 'result' }]));
  });
  checkEstimate(hidden, 'hidden');
  const cut = await meter(async (gear) => {
    for await (const _ of playQuery(gear, streamed));
  });
  checkEstimate(cut, 'cut');
  const whole = await meter(async (gear) => {
    const end = { type: 'stream_event', event: { type: 'message_delta', usage: { output_tokens: 900 } } };
    const usage = { usage: { input_tokens: 10, output_tokens: 1 } };
    for await (const _ of playQuery(gear, [...streamed, message(usage), end, { type: 'result' }]));
  });
  assert.deepEqual([whole.tokens, whole.estimatedUsd, whole.lines], [910, undefined, []]);
});
