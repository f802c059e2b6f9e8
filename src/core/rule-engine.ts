/** The interface of written rules for the guard. A gear without a policy does not load the rules. */

import type { RuleHit } from './action.ts';
import type { Card } from './card.ts';
import type { Control } from './control.ts';
import type { EntryBody } from './event.ts';
import type { RuleSettings } from './settings.ts';

/** The rules in force. */
export interface RuleEngine {
  /** The control of the rules in force. */
  readonly control: Control;
  /** Rules whose condition holds for a call. */
  matchCall(tool: string, agent: string, args: readonly unknown[]): readonly RuleHit[];
  /** Output rules whose condition holds for a result. */
  matchResult(tool: string, agent: string, result: unknown): readonly RuleHit[];
  /** Returns an entry or card without the values that rules observed. */
  redact<T extends EntryBody | Card>(item: T): T;
  /** Returns an engine with a model's rules added; they may only tighten. */
  tighten(lines: readonly string[], target: string): Tightened;
  /** Returns the same rules under other settings, or another operator's rules with the model's rules kept. */
  with(engine: RuleEngine | undefined, settings: RuleSettings): RuleEngine;
}

/** An engine with a model's rules, and the result of adding them. */
export interface Tightened {
  readonly engine: RuleEngine;
  /** The ids of the accepted rules. */
  readonly taken: readonly string[];
  readonly rejected: readonly { readonly line: string; readonly reason: string }[];
}
