/** Type tests of the AI SDK's adapter: compiled, never run. What goes in comes out, and nothing becomes `any`. */

import { generateText, streamText, ToolLoopAgent, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import type { Refusal } from 'switchgear';
import { protect } from 'switchgear/adapters/ai-sdk';
import { z } from 'zod';
import type { Equal, Expect } from '../equal.ts';

const model = new MockLanguageModelV4();
const tools = {
  weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => ({ city, celsius: 21 }) }),
  clock: tool({ inputSchema: z.object({}), execute: async () => 12 }),
};
const guarded = protect({ model, tools });

export type Same = [
  Expect<Equal<(typeof guarded)['tools'], typeof tools>>,
  Expect<Equal<(typeof guarded)['model'], MockLanguageModelV4>>,
  Expect<Equal<(typeof guarded)['halt'], Refusal | undefined>>,
];

/** A tool that is written inside `protect` has the input of its schema. */
export const inline = protect({
  model,
  tools: {
    tides: tool({
      inputSchema: z.object({ port: z.string() }),
      execute: async ({ port }) => {
        const same: Expect<Equal<typeof port, string>> = true;
        return { port, same };
      },
    }),
  },
});

/** The results of a call keep the outputs of its tools. */
export async function results() {
  const { toolResults } = await generateText({ ...guarded, prompt: 'Is it warm?' });
  for (const result of toolResults) {
    if (result.dynamic || result.toolName !== 'weather') continue;
    const output: Expect<Equal<typeof result.output, { city: string; celsius: number }>> = true;
    void output;
  }
  void streamText({ ...guarded, prompt: 'Is it warm?' });
  return new ToolLoopAgent(protect({ model, tools, instructions: 'Be brief.' }));
}

// @ts-expect-error: an option that nobody reads is an error.
protect({ model }, { gears: 1 });
