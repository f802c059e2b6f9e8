/** A run of a chain as it is kept: plain JSON, enough to go on from in another process. */

import type { Code } from '../../../core/verdict.ts';
import type { Chain, ParamValues } from '../../file/chain.ts';

/** How far a run is. `waiting` = a person is asked; `in-doubt` = nobody knows whether a step ran. */
export type RunStatus = 'running' | 'waiting' | 'in-doubt' | 'done' | 'failed' | 'aborted' | 'throttled' | 'cancelled';

/** The status of a step. */
export type StepStatus = 'pending' | 'running' | 'done' | 'skipped' | 'failed' | 'in-doubt';

/** The stored state of a step. */
export interface StepState {
  readonly id: string;
  readonly status: StepStatus;
  /** How often it was begun. */
  readonly attempts: number;
  readonly startedWallMs?: number;
  readonly endedWallMs?: number;
  /** Bytes of its output as JSON; the output itself lies in cells of its own. */
  readonly outputBytes?: number;
  /** The failure, or the reason why the step was skipped, in one sentence. */
  readonly reason?: string;
}

/** Why a run ended before its last step. */
export interface RunEnd {
  readonly code: Code | 'ability_failed' | 'cancelled' | 'store_away';
  /** For a person. */
  readonly message: string;
  readonly rules?: readonly string[];
  /** When it may be tried again. */
  readonly retryAtMs?: number;
}

/** The process that runs a chain, with its lease. */
export interface RunOwner {
  /** Unlike that of any other process, and of any other attempt to run it. */
  readonly process: string;
  readonly untilMs: number;
  /** The process on its machine, where it can be asked whether it lives. */
  readonly pid: number;
  readonly machine: string;
}

/** The stored state of a run. */
export interface RunState {
  readonly format: 1;
  readonly id: string;
  readonly status: RunStatus;
  /** The chain as it was read: a file that changes meanwhile changes nothing. */
  readonly chain: Chain;
  readonly params: ParamValues;
  /** Rules that a model wrote for this run, one line each. */
  readonly modelRules: readonly string[];
  /** The path of the chain file, for a later resume: abilities may be configured beside it. */
  readonly origin?: string;
  readonly startedWallMs: number;
  readonly endedWallMs?: number;
  readonly steps: readonly StepState[];
  readonly end?: RunEnd;
  /** The process that runs it, and until when that is believed, in store time. */
  readonly owner?: RunOwner;
  /** It was let start: a run that goes on later is not counted again. */
  readonly admitted?: true;
  /** Rules that a person approved for all of this run. */
  readonly approved: readonly { readonly rules: readonly string[]; readonly by: string }[];
  /** The open question. */
  readonly card?: string;
}
