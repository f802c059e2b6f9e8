/** The door `switchgear/chains`: chain files, their rules and parameters. */

export type {
  Chain,
  ChainStep,
  Param,
  ParamType,
  ParamValues,
  StepCondition,
  StepOp,
} from './chain.ts';
export { holds } from './condition.ts';
export { graphOf } from './graph.ts';
export { readParams } from './params.ts';
export type { Problem } from './problem.ts';
export { type ChainReading, loadChain, readChain } from './read.ts';
export { rulesOf } from './rules-of.ts';
export { fillTemplates, type Scope } from './template.ts';
