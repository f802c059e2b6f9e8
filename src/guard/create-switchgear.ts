/** The gear of the library: with the checker of policies. */

import type { Switchgear, SwitchgearOptions } from './api.ts';
import { assembleSwitchgear } from './assemble-switchgear.ts';
import { policyEngine } from './policy/apply-policy.ts';

export { policyEngine };

/** Creates a gear with every protection on, unless the policy turns one off. */
export function createSwitchgear(options: SwitchgearOptions = {}): Switchgear {
  return assembleSwitchgear(options, { policyEngine });
}

let shared: Switchgear | undefined;

/** The one gear of the process, for adapters and code that is given none. */
export function defaultSwitchgear(): Switchgear {
  shared ??= createSwitchgear();
  return shared;
}
