/** Entry point `switchgear/compat`: the names of the five seed documents, each a thin layer over the library. */

export { hasInabilityPhrase } from '../core/controls/delegation/inability.ts';
export { type Nyaya, parseNyaya } from '../core/controls/rules/nyaya.ts';
export { type ParsedRule, parseRule, type Rule } from '../core/controls/rules/rule.ts';
export { delegationPolicyPrompt, protocolPrompt } from '../core/messages/prompts.ts';
export { type AnthropicUsage, estimateUsageCents } from '../core/prices/builtin-prices.ts';
export { defaultSwitchgear } from '../guard/create-switchgear.ts';
export {
  type BreakerConfig,
  configFromEnv,
  DEFAULT_BREAKER_CONFIG,
  SessionBreaker,
  type SessionBreakerOptions,
  type SessionSnapshot,
  type SessionTaskSnapshot,
  type TaskHalt,
} from './black-box.ts';
export { createCircuitBreaker, type OperationBreaker, OperationFailed } from './cuedeck.ts';
export {
  checkCircuitBreaker,
  type DelegationBreaker,
  type DelegationFailuresState,
  type DelegationFailuresUpdate,
  delegationBreaker,
  MAX_DELEGATION_FAILURES,
  recordDelegationFailure,
} from './delegation.ts';
export type { HaltReason } from './halt-reason.ts';
export { BreakerRegistry, type BreakerStep, type Evaluation, type FiredRule, type RuleInput } from './nabaos.ts';
export {
  type CircuitBreaker,
  type CircuitBreakerConfig,
  type CircuitBreakerStats,
  getCircuitBreaker,
  resetAllCircuitBreakers,
  type SeedSettings,
} from './praison.ts';
export type { SessionEvent } from './session-event.ts';
