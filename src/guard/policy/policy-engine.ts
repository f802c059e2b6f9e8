/**
 * Where a written policy is checked. The checker and the rules are a door of their own, so that a gear without a policy
 * does not carry them: a policy made by that door brings them along, and a plain object has them loaded when given.
 */

import { createRequire } from 'node:module';
import { defaultSettings } from '../../core/controls/defaults.ts';
import { SwitchgearError } from '../../core/error.ts';
import { engineKey, type PolicyEngine, type TakenPolicy } from '../../ports/policy.ts';

const bundled =
  "in a bundled program policies and the environment are read by checkPolicy({ … }) of 'switchgear/policy': give that";

export function policyEngineOf(input: unknown): PolicyEngine {
  try {
    const own = (input as { [engineKey]?: PolicyEngine } | undefined)?.[engineKey];
    if (own !== undefined) return own;
    const door = import.meta.url.endsWith('.ts') ? './apply-policy.ts' : './apply-policy.js';
    return (createRequire(import.meta.url)(door) as { policyEngine: PolicyEngine }).policyEngine;
  } catch (error) {
    throw new SwitchgearError('policy_unavailable', bundled, { cause: error });
  }
}

/** The policy with the environment's word; the defaults where nobody said anything. */
export function takePolicy(input: unknown, env: Readonly<Record<string, string | undefined>>): TakenPolicy {
  const named = Object.keys(env).filter((name) => /^(SWITCHGEAR|BB_CIRCUIT_BREAKER)_/.test(name));
  const defaults: TakenPolicy = { settings: defaultSettings, ignored: [] };
  if (input === undefined && named.length === 0) return defaults;
  try {
    return policyEngineOf(input).take(input ?? {}, env);
  } catch (error) {
    // Without a policy the defaults protect; that nobody read the environment is said, once for each name.
    if (input !== undefined || (error as SwitchgearError).code !== 'policy_unavailable') throw error;
    return {
      ...defaults,
      ignored: named.map((name) => ({ name, value: env[name] ?? '', used: `the default (${bundled})` })),
    };
  }
}
