/** The door `switchgear/chains`: chain files, their rules and parameters, and their runs. */

export type { Ability, AbilityCall, AbilitySource } from './ability.ts';
export { AbilityError, type AbilityFacts } from './ability-error.ts';
export type {
  Chain,
  ChainStep,
  Param,
  ParamType,
  ParamValues,
  StepCondition,
  StepOp,
} from './chain.ts';
export { type Chains, type ChainsOptions, createChains, type ResolveOptions, type RunOptions } from './chains.ts';
export { holds } from './condition.ts';
export { type AbilityFunction, functions } from './functions.ts';
export { graphOf } from './graph.ts';
export { type HttpOptions, http } from './http.ts';
export { type McpOptions, mcpServers } from './mcp.ts';
export { readParams } from './params.ts';
export type { Problem } from './problem.ts';
export { type ChainReading, loadChain, readChain } from './read.ts';
export { rulesOf } from './rules-of.ts';
export type { OnRun, RuleSeen, RunEvent } from './run-event.ts';
export type { RunLine } from './run-keeping.ts';
export type { RunEnd, RunOwner, RunState, RunStatus, StepState, StepStatus } from './run-state.ts';
export { chainSchema } from './schema.ts';
export { type ShellOptions, shell } from './shell.ts';
export { fillTemplates, type Scope } from './template.ts';
