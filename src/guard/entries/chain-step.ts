/** The door of chains to the gate: rules of a chain beside those of the policy, and steps that know what fires. */

import type { RuleHit } from '../../core/action.ts';
import { createRuleEngine, type RulesInForce } from '../../core/controls/rules/engine.ts';
import type { Rule } from '../../core/controls/rules/rule.ts';
import { addRules } from '../../core/controls/rules/rule-set.ts';
import type { AnyFunction, GuardOptions, Switchgear } from '../api.ts';
import type { askPerson } from '../route/approval.ts';
import { resetCallSites } from '../route/call-site.ts';
import { guardFunction } from '../route/guarded-function.ts';
import { makeTarget } from '../route/target.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { runtimeOf } from '../runtime/runtime.ts';

export interface ChainGuard {
  readonly runtime: Runtime;
  /** The rules of the policy, as they were before the chain's. */
  readonly policyRules: readonly Rule[];
  /** Rules that were not taken, and why. */
  readonly rejected: readonly { readonly rule: Rule; readonly reason: string }[];
  /** The function as a step: its hits are known, and what asks for a person asks in the chain's way. */
  guard(name: string, fn: AnyFunction, options: GuardOptions & { match(): readonly RuleHit[] }): AnyFunction;
}

/** Puts the rules of a chain in force on a gear of its own; `veil` hides what filled them from what is kept. */
export function guardChain(
  gear: Switchgear,
  rules: readonly Rule[],
  ask: typeof askPerson,
  redact: <T>(value: T) => T,
): ChainGuard {
  const runtime = runtimeOf(gear);
  const policyRules = (runtime.rules as RulesInForce | undefined)?.rules ?? [];
  const { rules: all, rejected } = addRules(policyRules, rules);
  const engine = createRuleEngine(all, runtime.settings.ruleSettings);
  runtime.rules = { ...engine, redact: (value) => redact(engine.redact(value)) };
  runtime.ask = ask;
  runtime.reportedOnce.add('task-missing'); // The run as a whole is judged outside its task, and counts in no budget.
  resetCallSites(runtime);
  return {
    runtime,
    policyRules,
    rejected,
    guard(name, fn, { match, ...options }) {
      const target = { ...makeTarget(runtime, name, { ...options, kind: 'step', async: true }), match };
      return guardFunction(runtime, target, fn, { ...options, async: true });
    },
  };
}
