/** What an adapter is tested with: a scripted model, some tools, and what became of them in the framework's hands. */

import type { Code } from '../core/verdict.ts';
import type { Switchgear } from '../guard/api.ts';

/** What the model says in one turn. */
export interface HostTurn {
  readonly text?: string;
  readonly calls?: readonly { readonly tool: string; readonly input?: Readonly<Record<string, unknown>> }[];
  /** Tokens that the turn is said to have cost, in and out alike; 10 unless said. */
  readonly tokens?: number;
}

export type HostTool = (input: Readonly<Record<string, unknown>>, signal?: AbortSignal) => unknown;

/** One run of an agent. */
export interface HostScene {
  /** The model's turns; the last one comes again as often as it is asked for. */
  readonly turns: readonly HostTurn[];
  /** Tools take an object of any shape. */
  readonly tools: Readonly<Record<string, HostTool>>;
  /** The gear that protects; undefined runs the framework bare. */
  readonly gear: Switchgear | undefined;
  /** The host's own limit of steps. */
  readonly stepsMax: number;
  /** Tools that are agents themselves. */
  readonly workers?: readonly string[];
  /** What a person answers when the host asks in its own way, after which the run is resumed. */
  readonly answers?: 'approve' | 'decline';
  /** Ends the run from outside. */
  readonly signal?: AbortSignal;
}

/** How the run went. */
export interface HostTranscript {
  readonly modelCalls: number;
  /** Every text that the model was shown as the result of a call, in order. */
  readonly toolResults: readonly string[];
  /** The last words of the run. */
  readonly answer: string;
  /** Why it was ended, as code reads it off what the framework gives back. */
  readonly halt: Code | undefined;
  /** How often the host asked a person. */
  readonly approvalsAsked: number;
  /** All that was said, as the framework keeps it, without ids and times that differ from run to run. */
  readonly messages: unknown;
}

/** What a story may need that a host does not have. */
export type HostAbility = 'closes' | 'asks' | 'meters' | 'delegates' | 'nests' | 'cancels';

/** An adapter under test. */
export interface HostHarness {
  readonly name: string;
  run(scene: HostScene): Promise<HostTranscript>;
  /** What the host cannot do: stories about it are left out. */
  readonly lacks?: readonly HostAbility[];
}
