/** What a gear needs of whoever checks a written policy. */

import type { RuleEngine } from '../core/rule-engine.ts';
import type { Settings } from '../core/settings.ts';

/** How an action that waits or is asked about comes back: only a policy, or a control of the user, makes it so. */
export type Rounds = (...route: never[]) => Promise<unknown>;

/** Settings in force, with their rules. */
export interface TakenPolicy {
  readonly settings: Settings;
  readonly rules: RuleEngine | undefined;
  readonly rounds: Rounds | undefined;
  /** Variables of the environment that could not be taken. */
  readonly ignored: readonly { readonly name: string; readonly value: string; readonly used?: unknown }[];
}

export interface PolicyEngine {
  take(input: unknown, env: Readonly<Record<string, string | undefined>>): TakenPolicy;
  /** An engine without rules, for a gear whose first ones a model writes. */
  noRules(settings: Settings): RuleEngine;
}

/** Under this key a checked policy carries its engine. */
export const engineKey = Symbol.for('switchgear.policy');
