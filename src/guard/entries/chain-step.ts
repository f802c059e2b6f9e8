/** Guards chain steps: adds the rules of a chain to those of the policy, and runs steps with known rule hits. */

import type { RuleHit } from '../../core/action.ts';
import { createRuleEngine, type RulesInForce } from '../../core/controls/rules/engine.ts';
import type { Rule } from '../../core/controls/rules/rule.ts';
import { addRules } from '../../core/controls/rules/rule-set.ts';
import type { AnyFunction, Switchgear } from '../api.ts';
import type { GuardOptions } from '../call-options.ts';
import type { askPerson } from '../route/approval.ts';
import { resetCallSites } from '../route/call-site.ts';
import { guardFunction } from '../route/guarded-function.ts';
import { makeTarget } from '../route/target.ts';
import { setMetricLayer } from '../runtime/process-counts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { runtimeOf } from '../runtime/runtime.ts';

export interface ChainGuard {
  readonly runtime: Runtime;
  /** The rules of the policy, without those of the chain. */
  readonly policyRules: readonly Rule[];
  /** Rejected rules with the reason. */
  readonly rejected: readonly { readonly rule: Rule; readonly reason: string }[];
  /** Guards a function as a step: `match` gives its rule hits, and questions go through the chain. */
  guard(name: string, fn: AnyFunction, options: GuardOptions & { match(): readonly RuleHit[] }): AnyFunction;
}

/** Adds the rules of a chain to its own gear; `redact` hides parameter values in stored entries. */
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
  setMetricLayer(runtime, 'chain');
  runtime.limitQuestions = 'none'; // The questions of a chain are about its steps.
  runtime.reportedOnce.add('task-missing'); // The run as a whole is judged outside its task and counts in no budget.
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
