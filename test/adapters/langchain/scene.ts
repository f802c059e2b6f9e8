/** Scenes of the adapter suite for LangChain and LangGraph: their own fake model and tools, and what a state holds. */

import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { fakeModel, tool } from 'langchain';
import type { HostScene, HostTranscript } from 'switchgear/testing';
import { z } from 'zod';

export const schema = z.looseObject({});

export type Model = ReturnType<typeof fakeModel>;

/** The turns of a scene, as often as the agent may ask. */
export function createScriptedModel({ turns, stepsMax }: Pick<HostScene, 'turns' | 'stepsMax'>): Model {
  const model = fakeModel();
  for (let step = 0; step < stepsMax; step++) {
    const { text = '', calls = [], tokens = 10 } = turns[Math.min(step, turns.length - 1)] ?? {};
    const tool_calls = calls.map((call, index) => ({
      name: call.tool,
      args: { ...call.input },
      id: `call-${step}-${index}`,
      type: 'tool_call' as const,
    }));
    const usage_metadata = { input_tokens: tokens, output_tokens: tokens, total_tokens: 2 * tokens };
    model.respond(new AIMessage({ content: text, tool_calls, ...({ usage_metadata } as object) }));
  }
  return turns.some(({ wait, chunks }) => wait ?? chunks) ? makeHang(model, turns) : model;
}

/** A model that waits before it answers, or streams without end. */
function makeHang(model: Model, turns: HostScene['turns']): Model {
  const generate = model._generate.bind(model);
  const chunks = turns[0]?.chunks;
  const methods = {
    bindTools: () => model,
    async _generate(...args: Parameters<typeof generate>) {
      const turn = turns[Math.min(model.callCount, turns.length - 1)];
      const answer = generate(...args);
      await turn?.wait?.((args[1] as { signal?: AbortSignal }).signal);
      return answer;
    },
    ...(chunks && {
      async *_streamResponseChunks(
        _messages: unknown,
        _options: unknown,
        manager?: { handleLLMNewToken(text: string): Promise<void> },
      ) {
        for await (const text of chunks()) {
          yield new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
          await manager?.handleLLMNewToken(text);
        }
      },
    }),
  };
  return Object.assign(model, methods) as Model;
}

/** The tools of a scene as LangChain's. */
export function makeTools({ tools }: HostScene) {
  return Object.entries(tools).map(([name, run]) =>
    tool(async (input, { signal }) => String(await run(input, signal)), { name, schema }),
  );
}

let threads = 0;

/** The configuration of one conversation. */
export function makeConfig({ stepsMax, signal }: HostScene) {
  return {
    configurable: { thread_id: `thread-${++threads}` },
    recursionLimit: 2 * stepsMax + 1,
    ...(signal && { signal }),
  };
}

export function countInterrupts(state: object): number {
  return ((state as { __interrupt__?: unknown[] }).__interrupt__ ?? []).length;
}

export function makeTranscript(model: Model, messages: readonly BaseMessage[], approvalsAsked: number): HostTranscript {
  const last = messages.at(-1);
  const facts = last?.response_metadata.switchgear as { code: HostTranscript['halt'] } | undefined;
  return {
    modelCalls: model.callCount,
    toolResults: messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text),
    answer: last?.text ?? '',
    halt: facts?.code,
    approvalsAsked,
    messages: messages.map((message) => ({ ...message.toDict().data, type: message.type, id: undefined })),
  };
}
