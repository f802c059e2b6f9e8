/** The types of the adapter suite: a scripted model, tools, and the transcript of a run in the framework. */

import type { Code } from '../core/verdict.ts';
import type { Switchgear } from '../guard/api.ts';

/** One turn of the model. */
export interface HostTurn {
  readonly text?: string;
  readonly calls?: readonly { readonly tool: string; readonly input?: Readonly<Record<string, unknown>> }[];
  /**
   * The input tokens and output tokens of the turn.
   *
   * @default 10
   */
  readonly tokens?: number;
  /** The model awaits this before it answers; it may never settle. */
  readonly wait?: (signal?: AbortSignal) => Promise<void>;
  /** The text of a streamed turn, part by part, without end; a host that streams hands on every part. */
  readonly chunks?: () => AsyncIterable<string>;
}

/** A tool of the agent under test. */
export type HostTool = (input: Readonly<Record<string, unknown>>, signal?: AbortSignal) => unknown;

/** The input of one run of an agent. */
export interface HostScene {
  /** The turns of the model; the last one repeats. */
  readonly turns: readonly HostTurn[];
  /** The tools by name; each takes an object of any shape. */
  readonly tools: Readonly<Record<string, HostTool>>;
  /** The gear that protects the run; undefined = unprotected. */
  readonly gear: Switchgear | undefined;
  /** The host's own limit of steps. */
  readonly stepsMax: number;
  /** Tools that are agents themselves. */
  readonly workers?: readonly string[];
  /** The answer of a person to an approval request of the host, after which the run resumes. */
  readonly answers?: 'approve' | 'decline';
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}

/** The output of one run of an agent. */
export interface HostTranscript {
  readonly modelCalls: number;
  /** The texts that the model got as tool results, in order. */
  readonly toolResults: readonly string[];
  /** The final text of the run. */
  readonly answer: string;
  /** The code of the halt, read from the result of the framework. */
  readonly halt: Code | undefined;
  /** The number of approval requests of the host. */
  readonly approvalsAsked: number;
  /** The messages of the framework, without ids and times that differ between runs. */
  readonly messages: unknown;
}

/**
 * An ability of a host that a story needs. `errors`: the error of a tool arrives with its class and status.
 * `models`: the host calls the model through the adapter. `streams`: the harness streams turns that have `chunks`.
 * `timeouts`: the adapter can cut a tool that hangs. `throws`: an error of the adapter ends the run with that error.
 * `raises`: the host comes back with the answer to a question about a limit.
 */
export type HostAbility =
  | 'closes'
  | 'asks'
  | 'meters'
  | 'delegates'
  | 'nests'
  | 'cancels'
  | 'errors'
  | 'models'
  | 'streams'
  | 'timeouts'
  | 'throws'
  | 'raises';

/** An adapter under test. */
export interface HostHarness {
  readonly name: string;
  run(scene: HostScene): Promise<HostTranscript>;
  /** The abilities that the host lacks, with the reason if it has one; stories that need them are skipped. */
  readonly lacks?: readonly HostAbility[] | { readonly [ability in HostAbility]?: string };
}
