/** Finds the abilities of all steps before a run starts, so that a missing one stops the run first. */

import { SwitchgearError } from '../../core/error.ts';
import { quoteValue } from '../../core/quote.ts';
import type { Ability, AbilitySource } from '../abilities/ability.ts';
import type { Chain } from '../file/chain.ts';

/** Finds the abilities of the given steps by name; the first source that has a name provides it. */
export async function resolveAbilities(
  sources: readonly AbilitySource[],
  { steps }: Chain,
  isWanted: (step: number) => boolean,
): Promise<ReadonlyMap<string, Ability>> {
  const found = new Map<string, Ability>();
  for (const [at, { ability: name, id }] of steps.entries()) {
    if (found.has(name) || !isWanted(at)) continue;
    for (const source of sources) {
      const ability = await source.find(name);
      if (ability === undefined) continue;
      found.set(name, ability);
      break;
    }
    if (!found.has(name)) throw await unknownAbilityError(sources, name, id);
  }
  return found;
}

async function unknownAbilityError(
  sources: readonly AbilitySource[],
  name: string,
  step: string,
): Promise<SwitchgearError> {
  const names = (await Promise.all(sources.map((source) => source.names()))).flat();
  const available = names.length === 0 ? 'there are none' : `there are ${names.slice(0, 20).join(', ')}`;
  return new SwitchgearError('unknown_ability', `step ${step}: unknown ability ${quoteValue(name)}: ${available}`);
}
