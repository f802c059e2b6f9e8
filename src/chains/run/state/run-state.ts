/** The stored state of a run: plain JSON from which another process can resume the run. */

import type { Code } from '../../../core/verdict.ts';
import type { LeftProcess } from '../../../supervisor/left-behind.ts';
import type { Chain, ParamValues } from '../../file/chain.ts';

/** The status of a run. `waiting`: a person is asked. `in-doubt`: it is unknown whether a step ran. */
export type RunStatus = 'running' | 'waiting' | 'in-doubt' | 'done' | 'failed' | 'aborted' | 'throttled' | 'cancelled';

/** The status of a step. */
export type StepStatus = 'pending' | 'running' | 'done' | 'skipped' | 'failed' | 'in-doubt';

/** The stored state of a step. */
export interface StepState {
  readonly id: string;
  readonly status: StepStatus;
  /** How often the step was started. */
  readonly attempts: number;
  readonly startedWallMs?: number;
  readonly endedWallMs?: number;
  /** Bytes of the output as JSON; the output itself is in its own cells. */
  readonly outputBytes?: number;
  /** The failure, or the reason why the step was skipped, in one sentence. */
  readonly reason?: string;
  /** Programs that the step left running, and whether they were ended, have ended or still run; at most 20. */
  readonly leftBehind?: readonly LeftProcess[];
}

/** Why a run ended before its last step. */
export interface RunEnd {
  readonly code: Code | 'ability_failed' | 'cancelled' | 'store_away';
  /** A sentence for a person. */
  readonly message: string;
  readonly rules?: readonly string[];
  /** When the run may be resumed. */
  readonly retryAtMs?: number;
}

/** The process that owns a run, with its lease. */
export interface RunOwner {
  /** Unique for each process and each attempt. */
  readonly process: string;
  readonly untilMs: number;
  /** The process id and its machine, so that a process there can check whether the owner lives. */
  readonly pid: number;
  readonly machine: string;
}

/** An approval of rules for a whole run. */
export interface RunApproval {
  readonly rules: readonly string[];
  readonly by: string;
  /** Keyed digests of what the steps resolved to: another server or program needs another approval. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** The stored state of a run. */
export interface RunState {
  readonly format: 1;
  readonly id: string;
  readonly status: RunStatus;
  /** The chain as read at the start: later changes of the file have no effect. */
  readonly chain: Chain;
  readonly params: ParamValues;
  /** Rules from a model's text for this run, one line each. */
  readonly modelRules: readonly string[];
  /** The path of the chain file, for a later resume: abilities may be configured next to the file. */
  readonly origin?: string;
  readonly startedWallMs: number;
  readonly endedWallMs?: number;
  readonly steps: readonly StepState[];
  readonly end?: RunEnd;
  /** The process that owns the run, and when its lease expires in store time. */
  readonly owner?: RunOwner;
  /** Whether the run was admitted: a resumed run is not counted again. */
  readonly admitted?: true;
  /** Rules that a person approved for the whole run. */
  readonly approved: readonly RunApproval[];
  /** The open question. */
  readonly card?: string;
}
