/** The door `switchgear/chains`: chain files, their rules and parameters, and their runs. */

export type { Ability, AbilityCall, AbilitySource } from './abilities/ability.ts';
export { AbilityError, type AbilityFacts } from './abilities/ability-error.ts';
export { type AbilityFunction, functions } from './abilities/functions.ts';
export { type HttpOptions, http } from './abilities/http.ts';
export { type McpOptions, mcpServers } from './abilities/mcp/index.ts';
export { type ShellOptions, shell } from './abilities/shell.ts';
export type {
  Chain,
  ChainStep,
  Param,
  ParamType,
  ParamValues,
  StepCondition,
  StepOp,
} from './file/chain.ts';
export { rulesOf } from './file/chain-rules.ts';
export { holds } from './file/condition.ts';
export { graphOf } from './file/graph.ts';
export { readParams } from './file/params.ts';
export type { Problem } from './file/problem.ts';
export { type ChainReading, loadChain, readChain } from './file/read-chain.ts';
export { chainSchema } from './file/schema.ts';
export { fillTemplates, type Scope } from './file/template.ts';
export { type Chains, type ChainsOptions, createChains, type ResolveOptions, type RunOptions } from './run/chains.ts';
export type { OnRun, RuleSeen, RunEvent } from './run/state/run-event.ts';
export type { RunEnd, RunOwner, RunState, RunStatus, StepState, StepStatus } from './run/state/run-state.ts';
export type { RunLine } from './run/storage/runs.ts';
