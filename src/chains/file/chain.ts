/** A chain: a plan of steps with its parameters and rules, as it stands in a file once it was read. */

import type { BreakerSettings, RuleSettings, RuleText } from '../../core/settings.ts';

/** The type of a parameter of a chain. */
export type ParamType = 'text' | 'number' | 'boolean';

/** A parameter of a chain. */
export interface Param {
  readonly name: string;
  readonly type: ParamType;
  readonly description?: string;
  readonly required: boolean;
  readonly default?: string | number | boolean;
}

/** How a step compares an earlier output, or a parameter, with a value. */
export type StepOp =
  | 'equals'
  | 'not_equals'
  | 'less_than'
  | 'less_or_equal'
  | 'greater_than'
  | 'greater_or_equal'
  | 'contains'
  | 'not_contains'
  | 'starts_with'
  | 'ends_with'
  | 'matches'
  | 'in'
  | 'exists'
  | 'not_exists'
  | 'is_empty'
  | 'is_not_empty';

/** When a step runs; a step whose condition does not hold is skipped. */
export interface StepCondition {
  /** An output key, a path into one (`order.amount`), or a parameter. */
  readonly refKey: string;
  readonly op: StepOp;
  /** May hold `{{…}}`; absent for the ops that compare with nothing. */
  readonly value?: unknown;
}

/** One step of a chain. */
export interface ChainStep {
  readonly id: string;
  /** `server.tool` of an MCP server, a function's name, `http.get`, `http.post` or `shell.execute`. */
  readonly ability: string;
  /** Values may hold `{{…}}`. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The name its result has for later steps, conditions and rules. */
  readonly outputKey?: string;
  readonly condition?: StepCondition;
  readonly timeoutSecs?: number;
  readonly circuitBreaker?: Partial<BreakerSettings>;
  /** May run again when nobody knows whether it ran. */
  readonly idempotent: boolean;
}

/** A chain as read from its file. */
export interface Chain {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly params: readonly Param[];
  /** As written: `{{…}}` in conditions and reasons is filled when a run starts. */
  readonly rules: readonly RuleText[];
  /** How its own rules look; what is not said here says the policy. */
  readonly ruleSettings: Partial<Pick<RuleSettings, 'onMissing' | 'lookup'>>;
  readonly steps: readonly ChainStep[];
}

/** A value that a run was given, by parameter. */
export type ParamValues = Readonly<Record<string, string | number | boolean>>;
