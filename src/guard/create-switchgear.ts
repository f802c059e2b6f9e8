/** Creates a gear of the library, which takes policies. */

import type { Switchgear, SwitchgearOptions, ThrowingSwitchgear } from './api.ts';
import { assembleSwitchgear } from './assemble-switchgear.ts';
import { policyEngine } from './policy/apply-policy.ts';

export { policyEngine };

/**
 * Creates a gear with every protection on, unless the policy turns one off.
 * @example
 * import { createSwitchgear, isRefused } from 'switchgear';
 *
 * const gear = createSwitchgear({ agent: 'scraper', policy: { task: { maxToolCalls: 50 } } });
 * const fetchPage = gear.guard('fetch_page', async (url: string) => (await fetch(url)).text());
 * const page = await fetchPage('https://example.com');
 * if (isRefused(page)) console.log(page.error);
 */
export function createSwitchgear(options: SwitchgearOptions & { readonly onRefusal: 'throw' }): ThrowingSwitchgear;
export function createSwitchgear(options?: SwitchgearOptions): Switchgear;
export function createSwitchgear(options: SwitchgearOptions = {}): Switchgear {
  return assembleSwitchgear(options, { policyEngine });
}

let shared: Switchgear | undefined;

/** The default gear of the process, which adapters use if they are given none. */
export function defaultSwitchgear(): Switchgear {
  shared ??= createSwitchgear();
  return shared;
}
