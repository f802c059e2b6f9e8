/** One scene of the demo: what an agent does, what became of it, and what has to become of it. */

import type { Entry } from '../core/event.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Code } from '../core/verdict.ts';
import { createSwitchgear, type Switchgear, type SwitchgearOptions, type TaskResult } from '../index.ts';
import { type SimulatedClock, simulatedClock, type Transcript, type TranscriptLine } from '../testing/index.ts';
import type { Theatre, WatchedEnd } from './run-scene.ts';

/** How one attempt of the agent ended. */
export type Mark = 'ran' | 'failed' | 'refused' | 'halted' | 'said';

export interface Scene {
  /** What the agent does, in one line. */
  readonly title: string;
  /** The same in a few words, for the table. */
  readonly short: string;
  /** What would have gone on without protection. */
  readonly wanted: string;
  /** How it has to end. The demo fails if it does not. */
  readonly expected: Expected;
  play(stage: Stage): Promise<Played>;
}

/** No code = it has to be left alone. */
export interface Expected {
  readonly code: Code | undefined;
  readonly attempts: number;
  readonly ran: number;
  /** Of a process. */
  readonly exitCode?: number;
}

export interface Stage {
  /** Runs an agent under `switchgear run`. */
  readonly run: Theatre['run'];
  readonly clock: SimulatedClock;
  /** A gear as a user has it, but for the clock, and with nothing from the environment. */
  readonly gear: (options?: SwitchgearOptions) => Switchgear;
}

export interface Played {
  /** What was attempted, in order, under one name. */
  readonly name: string;
  readonly marks: readonly Mark[];
  readonly journal: readonly Entry[];
  /** What the library refused it with. */
  readonly refusal: Refusal | undefined;
  /** How it was run, and what was said about it. */
  readonly watched?: WatchedEnd;
  /** After how much it was stopped. */
  readonly after: string;
}

export function createStage({ run }: Pick<Theatre, 'run'>): Stage {
  const clock = simulatedClock();
  return {
    run,
    clock,
    gear: (options) =>
      createSwitchgear({ agent: 'Researcher', session: 'demo', clock, log: 'silent', env: {}, ...options }),
  };
}

/** What became of every step of a script. */
export function marksOf({ lines }: Transcript): readonly Mark[] {
  return lines.map(markOf);
}

function markOf(line: TranscriptLine): Mark {
  switch (line.kind) {
    case 'result':
      return 'ran';
    case 'error':
      return 'failed';
    case 'refusal':
      return line.refusal.kind === 'halt' ? 'halted' : 'refused';
    case 'told':
      return 'said';
  }
}

/** How many attempts came through to the tool, well or not. */
export function ranOf(marks: readonly Mark[]): number {
  return marks.filter((mark) => mark === 'ran' || mark === 'failed').length;
}

/** How a scene ended in which an agent followed a script: its calls or, where it made none, its words. */
export function endOf(
  gear: Switchgear,
  name: string,
  result: TaskResult<Transcript>,
  after = (marks: readonly Mark[]) => `${marks.length} calls, ${ranOf(marks)} ran`,
): Played {
  const all = result.value === undefined ? [] : marksOf(result.value);
  const calls = all.filter((mark) => mark !== 'said');
  const marks = ranOf(calls) > 0 ? calls : all;
  const refusal = result.status === 'halted' ? result.halt : undefined;
  return { name, marks, journal: gear.journal(), refusal, after: after(marks) };
}

/** By what it was stopped; undefined where it was left alone. */
export function codeOf({ watched, refusal }: Played): Code | undefined {
  return watched === undefined ? refusal?.code : watched.code;
}

/** What of a scene is not as it has to be, in words; empty where all is well. */
export function faultsOf({ expected }: Scene, played: Played): readonly string[] {
  const { marks, watched } = played;
  const seen = { code: codeOf(played), attempts: marks.length, ran: ranOf(marks), exitCode: watched?.exitCode };
  return (['code', 'attempts', 'ran', 'exitCode'] as const).flatMap((what) =>
    seen[what] === expected[what] ? [] : [`${what} should be ${expected[what]}, is ${seen[what]}`],
  );
}
