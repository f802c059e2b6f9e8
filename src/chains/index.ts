/** The entry point `switchgear/chains`: chain files, their rules and parameters, and their runs. */

export type { Ability, AbilityAftermath, AbilityCall, AbilitySource } from './abilities/ability.ts';
export { AbilityError, type AbilityFacts } from './abilities/ability.ts';
export { type AbilityFunction, functionAbilities } from './abilities/functions.ts';
export { type HttpOptions, httpAbilities } from './abilities/http.ts';
export { type McpOptions, mcpAbilities } from './abilities/mcp/index.ts';
export { type ShellOptions, shellAbilities } from './abilities/shell.ts';
export type {
  Chain,
  ChainStep,
  Param,
  ParamType,
  ParamValues,
  StepCondition,
  StepOp,
} from './file/chain.ts';
export { chainRules } from './file/chain-rules.ts';
export { evaluateCondition } from './file/condition.ts';
export { renderGraph } from './file/graph.ts';
export { readParams } from './file/params.ts';
export type { Problem } from './file/problem.ts';
export { type ChainReading, loadChain, readChain } from './file/read-chain.ts';
export { chainSchema } from './file/schema.ts';
export { fillTemplates, type TemplateScope } from './file/template.ts';
export { type Chains, type ChainsOptions, createChains, type ResolveOptions, type RunOptions } from './run/chains.ts';
export type { RuleCheck, RunEvent, RunListener } from './run/state/run-event.ts';
export type { RunEnd, RunOwner, RunState, RunStatus, StepState, StepStatus } from './run/state/run-state.ts';
export type { RunSummary } from './run/storage/runs.ts';
