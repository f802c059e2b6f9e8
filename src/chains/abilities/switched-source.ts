/** Built-in abilities are off until a policy turns them on, and say so. */

import { SwitchgearError } from '../../core/error.ts';
import type { AbilitySettings } from '../../core/settings.ts';
import type { Ability, AbilitySource } from './ability.ts';

/** Abilities behind a setting of the policy's section `abilities`; while it is off they say how to turn it on. */
export function createSwitchedSource(
  setting: keyof AbilitySettings & string,
  isOn: boolean,
  abilities: readonly Ability[],
): AbilitySource {
  return {
    async find(name) {
      const found = abilities.find((ability) => ability.name === name);
      if (found && !isOn) {
        const how = `set ${setting} = true in the section [abilities] of the policy`;
        throw new SwitchgearError('ability_off', `the ability ${name} is off: to turn it on, ${how}`);
      }
      return found;
    },
    names: async () => (isOn ? abilities.map(({ name }) => name) : []),
    close: async () => {},
  };
}
