/** Entry point `switchgear/policy`: policies as documents, files, explanations and schema. */

export { type BreakerQuery, resolveBreaker, resolveTask } from '../core/controls/resolve-settings.ts';
export { type CheckedPolicy, checkBreaker, checkPolicy, checkTask } from './check/check-policy.ts';
export type { PolicySource, Provenance } from './check/report.ts';
export {
  applyEnvironment,
  type EnvironmentPolicy,
  type IgnoredVariable,
  type LoosenedSetting,
  type MayLoosen,
} from './environment.ts';
export {
  findPolicy,
  type PolicyWatch,
  parsePolicy,
  type WatchPolicyOptions,
  watchPolicy,
} from './file/files.ts';
export { loadPolicy } from './file/load-policy.ts';
export { explainPolicy, listAdvice } from './pages/explain.ts';
export { policySchema } from './pages/json-schema.ts';
export { settingsReference } from './pages/reference-page.ts';
export type {
  AgentDocument,
  BreakerDocument,
  BudgetDocument,
  PolicyDocument,
  RuleDocument,
} from './table/policy-document.ts';
export { type PresetName, presets } from './table/presets.ts';
