/** A chain as read from its file: a plan of steps with its parameters and rules. */

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

/** The condition of a step; if the condition does not hold, the step is skipped. */
export interface StepCondition {
  /** An output key, a path into an output (`order.amount`), or a parameter. */
  readonly refKey: string;
  readonly op: StepOp;
  /** The value to compare with; may contain `{{…}}`. Absent for operators without a value. */
  readonly value?: unknown;
}

/** One step of a chain. */
export interface ChainStep {
  readonly id: string;
  /** `server.tool` of an MCP server, the name of a function, `http.get`, `http.post` or `shell.execute`. */
  readonly ability: string;
  /** Values may contain `{{…}}`. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The name of the result for later steps, conditions and rules. */
  readonly outputKey?: string;
  readonly condition?: StepCondition;
  readonly timeoutSecs?: number;
  readonly circuitBreaker?: Partial<BreakerSettings>;
  /** Whether the step may run again if it is unknown whether it ran. */
  readonly idempotent: boolean;
}

/** A chain as read from its file. */
export interface Chain {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly params: readonly Param[];
  /** The rules as written: `{{…}}` in conditions and reasons is filled when a run starts. */
  readonly rules: readonly RuleText[];
  /** Settings of the chain's own rules; the policy's settings apply where these set nothing. */
  readonly ruleSettings: Partial<Pick<RuleSettings, 'onMissing' | 'lookup'>>;
  readonly steps: readonly ChainStep[];
}

/** The values of a run's parameters, by name. */
export type ParamValues = Readonly<Record<string, string | number | boolean>>;
