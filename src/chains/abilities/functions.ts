/** Abilities that are functions of the program that runs the chain. */

import { type AbilityCall, type AbilitySource, toPlainOutput } from './ability.ts';

/** Performs a step. A thrown error is the step's failure; the returned value must be plain JSON. */
export type AbilityFunction = (
  args: AbilityCall['args'],
  call: Pick<AbilityCall, 'signal' | 'attemptKey'>,
) => unknown | Promise<unknown>;

/** Abilities by name: `functionAbilities({ 'mail.send': send })` provides the ability `mail.send`. */
export function functionAbilities(table: Readonly<Record<string, AbilityFunction>>): AbilitySource {
  const functionsByName = new Map(Object.entries(table));
  return {
    async find(name) {
      const run = functionsByName.get(name);
      return (
        run && {
          name,
          scope: 'agent',
          run: async ({ args, signal, attemptKey }) => toPlainOutput(name, await run(args, { signal, attemptKey })),
        }
      );
    },
    names: async () => [...functionsByName.keys()],
    close: async () => {},
  };
}
