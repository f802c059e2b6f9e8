/** The interface of policies: how a gear gets settings, rules and budgets from a policy document. */

import type { Action } from '../core/action.ts';
import type { ToolBudget } from '../core/controls/budget/tool-limit.ts';
import type { BoundControl } from '../core/decide.ts';
import type { EntryBody } from '../core/event.ts';
import type { RuleEngine } from '../core/rule-engine.ts';
import type { JointBudget, Settings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { Clock } from './clock.ts';
import type { Store } from './store.ts';

/** The part of a gear that joint budgets use. */
export interface SpendingGear {
  readonly store: Store;
  readonly clock: Clock;
  readonly project: string;
}

/** A key of the gateway that pays for a task, and its own budgets. */
export interface PayingKey {
  readonly name: string;
  readonly budgets: readonly JointBudget[];
}

/** The owner of calls that spend from budgets. */
export interface BudgetOwner {
  readonly agent: string;
  readonly session: string;
  readonly key?: PayingKey | undefined;
}

/** A callee with budgets of its own: a tool with a limit in its session, or a model. */
export interface BudgetTarget {
  readonly tool?: ToolBudget | undefined;
  readonly model?: string | undefined;
}

/** The joint budgets that one agent in one session spends from. */
export interface BudgetSet {
  readonly boundControls: readonly BoundControl[];
  /** The budgets of the tool or model alone. */
  readonly targetControls: readonly BoundControl[];
  /**
   * Reserves the need of an action after all controls allowed it, or what a running one needs more; returns a stop if
   * a budget refuses.
   */
  reserve(action: Action, atMs: number, isGrowth?: boolean): Stop | undefined;
}

/** The joint budgets of a policy. */
export interface Budgets {
  /** The budgets of a spender, with those of what it calls. */
  setFor(gear: SpendingGear, owner: BudgetOwner, target?: BudgetTarget): BudgetSet;
  /** Returns the unused allowance of this process to the store. */
  close(): void;
}

/** Adds call arguments to journal entries if the policy asks for journal content. */
export interface ArgumentContent {
  /** Stores the arguments of a proposed call. */
  rememberArgs(id: string | number, args: readonly unknown[]): void;
  /** Returns the entry body with the arguments of its call. */
  addArgs(body: EntryBody): EntryBody;
}

/** The effective settings of a policy, with its rules and budgets. */
export interface AppliedPolicy {
  readonly settings: Settings;
  readonly rules?: RuleEngine | undefined;
  readonly budgets?: Budgets | undefined;
  readonly content?: ArgumentContent | undefined;
  /** The project of a policy file that was found; undefined for the working folder. */
  readonly project?: string | undefined;
  /** The origin of a setting by its path: `default`, `switchgear.toml, line 4`; undefined if it is not set there. */
  readonly originOf?: ((path: string) => string | undefined) | undefined;
  /** Environment variables whose values were ignored, and parts of a found policy that wait for trust. */
  readonly ignored: readonly {
    readonly name: string;
    readonly value: string;
    readonly used?: unknown;
    readonly message?: string;
  }[];
  /** Environment variables that protect less than the policy without them. */
  readonly loosened: readonly { readonly name: string; readonly value: string; readonly before: unknown }[];
}

/** Turns policy documents into effective settings. */
export interface PolicyEngine {
  apply(input: unknown, env: Readonly<Record<string, string | undefined>>): AppliedPolicy;
  /** Returns a rule engine without rules, for a gear whose first rules come from a model. */
  createEmptyRules(settings: Settings): RuleEngine;
  /** Returns budgets without any of a policy, for a tool with a limit per session. */
  createEmptyBudgets(): Budgets;
}
