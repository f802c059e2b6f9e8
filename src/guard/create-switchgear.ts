/** Creates a gear of the library, which takes policies. */

import { SwitchgearError } from '../core/error.ts';
import type { Switchgear, SwitchgearOptions, ThrowingSwitchgear } from './api.ts';
import { assembleSwitchgear } from './assemble-switchgear.ts';
import { policyEngine } from './policy/apply-policy.ts';
import { reportUnusedPolicy } from './policy/unused-policy.ts';
import { runtimeOf } from './runtime/runtime.ts';

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
  return create(options, 'createSwitchgear');
}

/** Creates a gear; `name` is the function that a program would give a policy to. */
function create(options: SwitchgearOptions, name: string): Switchgear {
  const gear = assembleSwitchgear(options, { policyEngine });
  if (options.policy === undefined) reportUnusedPolicy(runtimeOf(gear), name);
  return gear;
}

let shared: Switchgear | undefined;

/** The default gear of the process, which adapters use if they are given none. */
export function defaultSwitchgear(): Switchgear {
  shared ??= create({}, 'configureSwitchgear');
  return shared;
}

/**
 * Creates the default gear of the process, with options. Call it once, before the first `protect` or
 * `defaultSwitchgear()`; afterwards it throws `already_configured`.
 * @example
 * import { configureSwitchgear } from 'switchgear';
 * import { loadPolicy } from 'switchgear/policy';
 *
 * configureSwitchgear({ policy: loadPolicy() });
 */
export function configureSwitchgear(options: SwitchgearOptions & { readonly onRefusal: 'throw' }): ThrowingSwitchgear;
export function configureSwitchgear(options?: SwitchgearOptions): Switchgear;
export function configureSwitchgear(options: SwitchgearOptions = {}): Switchgear {
  if (shared !== undefined)
    throw new SwitchgearError(
      'already_configured',
      'the default gear exists: call configureSwitchgear once, before the first protect(…) or defaultSwitchgear()',
    );
  shared = create(options, 'configureSwitchgear');
  return shared;
}
