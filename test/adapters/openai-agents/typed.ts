/** Type tests of the adapter for OpenAI Agents: compiled, never run. */

import { Agent, Runner, tool } from '@openai/agents';
import type { HaltedResult, HaltFacts } from 'switchgear';
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

/** The parameters of `execute` are inferred from the schema, as by `tool` itself. */
export const inferred = [
  tool(
    protect({
      name: 'forecast',
      description: 'The weather of some days.',
      parameters: z.object({ city: z.string(), days: z.number().default(1) }),
      strict: true,
      execute: async ({ city, days }, context, details) => {
        const same: [Expect<Equal<typeof city, string>>, Expect<Equal<typeof days, number>>] = [true, true];
        return { same, calls: [context, details?.toolCall?.callId] };
      },
    }),
  ),
  tool(
    protect(
      {
        name: 'any',
        description: 'A schema of JSON.',
        strict: false,
        parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
        execute: async (input) => String(input),
      },
      { workers: [] },
    ),
  ),
];
const options = protect({
  name: 'weather',
  description: 'Options under a name.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => city.length,
});
export const named = tool(options);
// @ts-expect-error: a field that the schema does not have.
protect({ parameters: z.object({ city: z.string() }), execute: ({ town }) => town });

/** A guarded run has the output of its agent. */
export async function output() {
  const agent = new Agent({ name: 'Sailor', tools: [weather], outputType: z.object({ warm: z.boolean() }) });
  const { finalOutput } = await runner.run(agent, 'Is it warm?');
  const same: Expect<Equal<typeof finalOutput, { warm: boolean } | undefined>> = true;
  return same;
}

/** The halt in a result can be declared; `run` itself is generic, and stays as it is. */
export async function halted() {
  const result = await runner.run(new Agent({ name: 'Sailor' }), 'Is it warm?');
  const typed: typeof result & HaltedResult = result;
  const same: Expect<Equal<typeof typed.switchgear, HaltFacts | undefined>> = true;
  return [same, typed.finalOutput, typed.switchgear?.code];
}

export type Same = [
  Expect<Equal<typeof runner, Runner>>,
  Expect<Equal<Parameters<(typeof options)['execute']>[0], { city: string }>>,
];
