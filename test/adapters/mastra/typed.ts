/** Type tests of Mastra's adapter: compiled, never run. */

import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { protect } from 'switchgear/adapters/mastra';
import { z } from 'zod';
import type { Equal, Expect } from '../equal.ts';

const weather = createTool({
  id: 'weather',
  description: 'The weather.',
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.object({ celsius: z.number() }),
  execute: async () => ({ celsius: 21 }),
});
const settings = {
  id: 'sailor',
  name: 'Sailor',
  instructions: 'Sail.',
  model: 'openai/gpt-5',
  tools: { weather },
} as const;
const guarded = protect(settings);

/** A tool that is written inside `protect` has the input of its schema. */
export const inline = new Agent(
  protect({
    id: 'pilot',
    name: 'Pilot',
    instructions: 'Steer.',
    model: 'openai/gpt-5',
    tools: {
      tides: createTool({
        id: 'tides',
        description: 'The tides.',
        inputSchema: z.object({ port: z.string() }),
        execute: async ({ port }) => {
          const same: Expect<Equal<typeof port, string>> = true;
          return { port, same };
        },
      }),
    },
  }),
);

export type Same = [Expect<Equal<typeof guarded, typeof settings>>];
export const agent: Agent<'sailor', { readonly weather: typeof weather }> = new Agent(guarded);

// @ts-expect-error: settings without a name are none of an agent.
protect({ model: 'openai/gpt-5' });
