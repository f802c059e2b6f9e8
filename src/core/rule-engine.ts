/** What the guard needs of written rules. They come with a policy, so that who has none carries none. */

import type { RuleHit } from './action.ts';
import type { Card } from './card.ts';
import type { Control } from './control.ts';
import type { EntryBody } from './event.ts';
import type { RuleSettings } from './settings.ts';

export interface RuleEngine {
  /** The control of the rules in force. */
  readonly control: Control;
  /** Rules whose condition on a call holds. */
  matchCall(tool: string, agent: string, args: readonly unknown[]): readonly RuleHit[];
  /** Output rules whose condition on a result holds. */
  matchResult(tool: string, agent: string, result: unknown): readonly RuleHit[];
  /** What is to be kept, without the values that rules saw. */
  redact<T extends EntryBody | Card>(item: T): T;
  /** The same rules with a model's beside them, which may only tighten. */
  tighten(lines: readonly string[], target: string): Tightened;
  /** The same rules under other settings, or an operator's other rules with the model's kept. */
  with(engine: RuleEngine | undefined, settings: RuleSettings): RuleEngine;
}

export interface Tightened {
  readonly engine: RuleEngine;
  /** The ids of the rules taken. */
  readonly taken: readonly string[];
  readonly rejected: readonly { readonly line: string; readonly reason: string }[];
}
