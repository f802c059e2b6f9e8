/** What a gear needs of whoever checks a written policy. */

import type { Action } from '../core/action.ts';
import type { BoundControl } from '../core/decide.ts';
import type { EntryBody } from '../core/event.ts';
import type { RuleEngine } from '../core/rule-engine.ts';
import type { Settings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { Clock } from './clock.ts';
import type { Store } from './store.ts';

/** A gear whose tasks spend from budgets beyond one task. */
export interface SpendingGear {
  readonly store: Store;
  readonly clock: Clock;
  readonly project: string;
}

/** The budgets that one agent in one session spends from. */
export interface BudgetSet {
  readonly boundControls: readonly BoundControl[];
  /** Takes what only a shared store can grant, after everybody allowed; or the word against it. */
  reserve(action: Action, atMs: number): Stop | undefined;
}

export interface Budgets {
  setFor(gear: SpendingGear, owner: { readonly agent: string; readonly session: string }): BudgetSet;
  /** Gives back what this process has in hand. */
  close(): void;
}

/** Adds arguments to the entries of a journal that is to hold them. */
export interface ArgumentContent {
  /** A call is proposed. */
  rememberArgs(id: string | number, args: readonly unknown[]): void;
  /** The body of an entry, with the arguments of the call it is about. */
  addArgs(body: EntryBody): EntryBody;
}

/** Settings in force, with their rules. */
export interface AppliedPolicy {
  readonly settings: Settings;
  readonly rules?: RuleEngine | undefined;
  readonly budgets?: Budgets | undefined;
  readonly content?: ArgumentContent | undefined;
  /** Variables of the environment that could not be taken. */
  readonly ignored: readonly { readonly name: string; readonly value: string; readonly used?: unknown }[];
}

export interface PolicyEngine {
  apply(input: unknown, env: Readonly<Record<string, string | undefined>>): AppliedPolicy;
  /** An engine without rules, for a gear whose first ones a model writes. */
  createEmptyRules(settings: Settings): RuleEngine;
}
