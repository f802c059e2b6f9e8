/** Type tests of the adapter for OpenAI Agents: compiled, never run. */

import { Agent, Runner, tool } from '@openai/agents';
import { protect } from 'switchgear/adapters/openai-agents';
import { z } from 'zod';
import type { Equal, Expect } from '../equal.ts';

const runner = protect(new Runner());

export const weather = tool(
  protect({
    name: 'weather',
    description: 'The weather.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }: { city: string }) => ({ city, celsius: 21 }),
  }),
);

/** A guarded run has the output of its agent. */
export async function output() {
  const agent = new Agent({ name: 'Sailor', tools: [weather], outputType: z.object({ warm: z.boolean() }) });
  const { finalOutput } = await runner.run(agent, 'Is it warm?');
  const same: Expect<Equal<typeof finalOutput, { warm: boolean } | undefined>> = true;
  return same;
}

export type Same = [Expect<Equal<typeof runner, Runner>>];
