/** The door `switchgear/policy`: policies as documents, files, explanations and schema. */

export { type CheckedPolicy, checkBreaker, checkPolicy, checkTask } from './check.ts';
export { applyEnvironment, type IgnoredVariable } from './environment.ts';
export { adviceOn, explainPolicy } from './explain.ts';
export {
  findPolicy,
  loadPolicy,
  type PolicyWatch,
  parsePolicy,
  type WatchPolicyOptions,
  watchPolicy,
} from './files.ts';
export { presets } from './presets.ts';
export { settingsReference } from './reference.ts';
export type { PolicySource, Provenance } from './report.ts';
export { type BreakerQuery, resolveBreaker, resolveTask } from '../core/resolve-settings.ts';
export { policySchema } from './schema.ts';
