/** The chain breaker registry of NabaOS under its own names; `parseRule` and `parseNyaya` come from the core. */

import type { RuleHit } from '../core/action.ts';
import {
  checkCount,
  explainRules,
  matchStep,
  type RuleExplanation,
  type StepFacts,
} from '../core/controls/rules/evaluate.ts';
import { countIn, createHistory, freeAtMs, type History, recordTime, sizeOf } from '../core/controls/rules/history.ts';
import {
  type ParsedRule,
  parseRule,
  parseRuleText,
  type Rule,
  type RuleAction,
  retarget,
} from '../core/controls/rules/rule.ts';
import { addRules } from '../core/controls/rules/rule-set.ts';
import { isFor, parseTarget } from '../core/controls/rules/target.ts';
import { SwitchgearError } from '../core/error.ts';
import { frequencyHistoryMax, ruleCellsMax } from '../core/limits.ts';
import type { RuleSettings, RuleText } from '../core/settings.ts';

/** A step about to run. */
export interface BreakerStep {
  readonly chainId: string;
  readonly ability: string;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A rule that fired. */
export interface FiredRule {
  readonly rule: Rule;
  readonly action: RuleAction;
  /** The written reason, or the observed value. */
  readonly reason: string;
}

/** Every rule that fired, and the resulting action: abort overrides confirm, confirm overrides throttle. */
export interface Evaluation {
  readonly fired: readonly FiredRule[];
  readonly action: RuleAction | null;
  readonly reasons: readonly string[];
  /** The reasons for the action, in one line. */
  readonly reason: string;
  /** How long a throttle lasts; absent if it never ends. */
  readonly retryAfterMs?: number;
}

/** A rule in any of its forms: parsed, as a line, or as a table of a chain file. */
export type RuleInput = Rule | string | Omit<RuleText, 'target'>;

const seedSettings: RuleSettings = {
  onMissing: 'fire',
  lookup: ['outputs'],
  throttle: 'skip',
  maxDelaySecs: 60,
  minIntervalSecs: 60,
};

const actions: readonly RuleAction[] = ['abort', 'confirm', 'throttle'];

/** The rules of chains and the times of their runs. The caller passes the time; `evaluate` changes nothing. */
export class BreakerRegistry {
  readonly #settings: RuleSettings;
  readonly #histories = new Map<string, History>();
  #rules: readonly Rule[] = [];

  constructor(settings: Partial<RuleSettings> = {}) {
    this.#settings = { ...seedSettings, ...settings };
  }

  /**
   * Adds a rule to a chain, or with `*` to every chain, and returns the rule in force.
   * Throws if the rule cannot be parsed or added: a lost rule would be a hole.
   */
  register(chainId: string, input: RuleInput): Rule {
    const target = chainId === '*' ? '*' : parseTarget(`chain:${chainId}`);
    if (target === undefined) throw new SwitchgearError('invalid_rule', `chain id must be one name, got "${chainId}"`);
    const parsed = readRule(input, target);
    if (!parsed.rule) throw new SwitchgearError('invalid_rule', `chain ${chainId}: ${parsed.error}`);
    const { rules, rejected } = addRules(this.#rules, [parsed.rule]);
    this.#rules = rules;
    // If a model repeats a rule of the operator, the operator's rule stays in force.
    const inForce = rules.find((rule) => rule.id === parsed.rule.id);
    if (!inForce) throw new SwitchgearError('rule_rejected', `chain ${chainId}: ${rejected[0]?.reason}`);
    return inForce;
  }

  registerGlobal(input: RuleInput): Rule {
    return this.register('*', input);
  }

  /** The rules of one chain, or all rules. */
  rules(chainId?: string): readonly Rule[] {
    return chainId === undefined ? this.#rules : this.#rules.filter((rule) => isFor(rule.target, { chain: chainId }));
  }

  /** Records a run of a chain. Call it before `evaluate`: the current run counts. */
  recordExecution(chainId: string, atMs: number): void {
    if (!Number.isFinite(atMs)) throw new SwitchgearError('invalid_time', `atMs must be a finite number, got ${atMs}`);
    const history = this.#histories.get(chainId) ?? createHistory();
    this.#histories.delete(chainId); // Re-insert the chain, so that the least recently run chain is evicted first.
    this.#histories.set(chainId, history);
    recordTime(history, atMs, frequencyHistoryMax);
    const oldest = this.#histories.keys().next();
    if (this.#histories.size > ruleCellsMax && !oldest.done) this.#histories.delete(oldest.value);
  }

  /** The number of recorded runs of a chain. */
  executions(chainId: string): number {
    const history = this.#histories.get(chainId);
    return history === undefined ? 0 : sizeOf(history);
  }

  /** Returns every rule that fires before a step. */
  evaluate(step: BreakerStep): Evaluation {
    const hits = new Map(matchStep(this.#rules, stepFacts(step), this.#settings).map((hit) => [hit.rule, hit]));
    const fired: FiredRule[] = [];
    let retryAfterMs = 0;
    for (const rule of this.rules(step.chainId)) {
      const hit = rule.condition.kind === 'frequency' ? this.#frequencyHit(rule, step) : hits.get(rule.id);
      if (hit === undefined) continue;
      fired.push({ rule, action: rule.action, reason: rule.reason ?? hit.seen });
      if (rule.action === 'throttle') retryAfterMs = Math.max(retryAfterMs, this.#throttleMs(rule, step));
    }
    const action = actions.find((name) => fired.some((hit) => hit.action === name)) ?? null;
    const reasons = fired.filter((hit) => hit.action === action).map((hit) => hit.reason);
    const evaluation = { fired, action, reasons, reason: reasons.join('; ') };
    return retryAfterMs > 0 && Number.isFinite(retryAfterMs) ? { ...evaluation, retryAfterMs } : evaluation;
  }

  /** Returns the finding of every rule of the chain, fired or not. */
  explain(step: BreakerStep): readonly RuleExplanation[] {
    return explainRules(this.#rules, stepFacts(step), this.#settings, (windowMs) => this.#runs(step, windowMs));
  }

  #runs({ chainId, atMs }: BreakerStep, windowMs: number): number {
    const history = this.#histories.get(chainId);
    return history === undefined ? 0 : countIn(history, windowMs, atMs);
  }

  #frequencyHit(rule: Rule, step: BreakerStep): RuleHit | undefined {
    if (rule.condition.kind !== 'frequency') return undefined;
    const check = checkCount(rule.condition, this.#runs(step, rule.condition.windowMs));
    return check.fired ? { rule: rule.id, seen: check.seen } : undefined;
  }

  #throttleMs(rule: Rule, { chainId, atMs }: BreakerStep): number {
    if (rule.condition.kind !== 'frequency') return this.#settings.minIntervalSecs * 1_000;
    return freeAtMs(this.#histories.get(chainId), rule.condition) - atMs;
  }
}

function readRule(input: RuleInput, target: string): ParsedRule {
  if (typeof input === 'string') return parseRule(input, { target });
  try {
    if (typeof input === 'object' && input !== null && 'id' in input) return { rule: retarget(input, target) };
    return parseRuleText({ ...input, target });
  } catch {
    return { error: 'rule cannot be read' };
  }
}

function stepFacts({ chainId, ability, outputs, args, params }: BreakerStep): StepFacts {
  return { chain: chainId, ability, outputs, args, params };
}
