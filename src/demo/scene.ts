/** A scene of the demo: the script of an agent, the result, and the expected result. */

import type { Entry } from '../core/event.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Code } from '../core/verdict.ts';
import { createSwitchgear, type Switchgear, type SwitchgearOptions, type TaskResult } from '../index.ts';
import { type SimulatedClock, simulatedClock, type Transcript, type TranscriptLine } from '../testing/index.ts';
import type { AgentRunner, AgentRunResult } from './agent-runner.ts';

/** How one attempt of the agent ended. */
export type AttemptMark = 'ran' | 'failed' | 'refused' | 'halted' | 'said';

export interface Scene {
  /** The behaviour of the agent, in one line. */
  readonly title: string;
  /** The same in a few words, for the table. */
  readonly short: string;
  /** The damage without protection. */
  readonly unprotected: string;
  /** The expected result. The demo fails if the scene ends differently. */
  readonly expected: ExpectedResult;
  play(context: SceneContext): Promise<SceneResult>;
}

/** The expected result of a scene; no code = the agent must not be stopped. */
export interface ExpectedResult {
  readonly code: Code | undefined;
  readonly attempts: number;
  readonly ran: number;
  /** The exit code of the process. */
  readonly exitCode?: number;
}

export interface SceneContext {
  /** Runs an agent under `switchgear run`. */
  readonly run: AgentRunner['run'];
  readonly clock: SimulatedClock;
  /** Creates a gear with default settings and a simulated clock, without environment variables. */
  readonly gear: (options?: SwitchgearOptions) => Switchgear;
}

export interface SceneResult {
  /** The label of the attempts, and their results in order. */
  readonly name: string;
  readonly marks: readonly AttemptMark[];
  readonly journal: readonly Entry[];
  /** The refusal of the library. */
  readonly refusal: Refusal | undefined;
  /** The agent run and its output. */
  readonly agentRun?: AgentRunResult;
  /** The amount after which the agent was stopped. */
  readonly after: string;
}

export function createSceneContext({ run }: Pick<AgentRunner, 'run'>): SceneContext {
  const clock = simulatedClock();
  return {
    run,
    clock,
    gear: (options) =>
      createSwitchgear({ agent: 'Researcher', session: 'demo', clock, log: 'silent', env: {}, ...options }),
  };
}

/** The results of all steps of a script. */
export function markAttempts({ lines }: Transcript): readonly AttemptMark[] {
  return lines.map(markAttempt);
}

function markAttempt(line: TranscriptLine): AttemptMark {
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

/** The number of attempts that reached the tool, successful or not. */
export function countRan(marks: readonly AttemptMark[]): number {
  return marks.filter((mark) => mark === 'ran' || mark === 'failed').length;
}

/** Summarizes a scene with a scripted agent: its calls, or its texts if it made no calls. */
export function summarizeScene(
  gear: Switchgear,
  name: string,
  result: TaskResult<Transcript>,
  after = (marks: readonly AttemptMark[]) => `${marks.length} calls, ${countRan(marks)} ran`,
): SceneResult {
  const allMarks = result.value === undefined ? [] : markAttempts(result.value);
  const calls = allMarks.filter((mark) => mark !== 'said');
  const marks = countRan(calls) > 0 ? calls : allMarks;
  const refusal = result.status === 'halted' ? result.halt : undefined;
  return { name, marks, journal: gear.journal(), refusal, after: after(marks) };
}

/** The code that stopped the agent; undefined if it was not stopped. */
export function stopCodeOf({ agentRun, refusal }: SceneResult): Code | undefined {
  return agentRun === undefined ? refusal?.code : agentRun.code;
}

/** Describes each difference from the expected result; empty if there is none. */
export function findFaults({ expected }: Scene, result: SceneResult): readonly string[] {
  const { marks, agentRun } = result;
  const actual = {
    code: stopCodeOf(result),
    attempts: marks.length,
    ran: countRan(marks),
    exitCode: agentRun?.exitCode,
  };
  return (['code', 'attempts', 'ran', 'exitCode'] as const).flatMap((field) =>
    actual[field] === expected[field] ? [] : [`${field} should be ${expected[field]}, is ${actual[field]}`],
  );
}
