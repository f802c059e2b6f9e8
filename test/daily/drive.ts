/** Drives a story on a simulated clock: who answers when, which calls run at once, and what ends next. */

import type { SimulatedClock } from '../../src/testing/index.ts';
import type { PlayOptions, Recorder } from './played.ts';
import type { Story, StoryCall, StoryStep, StoryTurn } from './story.ts';

/** A call with the id that its host gives it. */
export interface PlayedCall extends Required<StoryCall> {
  readonly id: string;
  /** The subagent that calls; undefined for the main agent. */
  readonly agent: string | undefined;
}

export interface PlayedTurn {
  readonly number: number;
  readonly agent: string | undefined;
  readonly say: string | undefined;
  readonly calls: readonly PlayedCall[];
}

/** A subagent, with the call that starts it. */
export interface PlayedAgent {
  readonly id: string;
  readonly agent: string;
  readonly type: string;
  readonly task: string;
}

export interface PlayedEnd extends PlayedAgent {
  readonly output: string;
  readonly ok: boolean;
}

/** What a surface does with each moment of a story. It notes in the recorder what the product answers. */
export interface Surface {
  prompt(text: string): void | Promise<void>;
  /** A model is asked for its next answer. */
  request?(agent: string | undefined): void | Promise<void>;
  /** The answer of the model has ended. Returns the calls that run, and leaves out those that were refused. */
  answer(turn: PlayedTurn): readonly PlayedCall[] | Promise<readonly PlayedCall[]>;
  callEnded(call: PlayedCall): void | Promise<void>;
  /** All calls of a turn have ended. */
  turnEnded?(turn: PlayedTurn): void | Promise<void>;
  /** The main agent starts subagents in one answer. Returns those that run. */
  start(agents: readonly PlayedAgent[]): readonly PlayedAgent[] | Promise<readonly PlayedAgent[]>;
  end(end: PlayedEnd): void | Promise<void>;
  /** The main agent has nothing to do until the next prompt. */
  rest?(): void | Promise<void>;
  /** Lets time pass, and settles what waits for it. */
  pass?(ms: number): Promise<void>;
  /** Looks for a halt that came by itself, such as a deadline. */
  check?(): void;
  /** Whether a call takes longer than the story says. */
  isBusy?(): boolean;
}

/** What happens at one time. */
type Beat =
  | { readonly kind: 'prompt'; readonly text: string }
  | { readonly kind: 'turns'; readonly turns: readonly PlayedTurn[] }
  | { readonly kind: 'starts'; readonly agents: readonly PlayedAgent[] }
  | { readonly kind: 'end'; readonly end: PlayedEnd };

/** Plays all of a story, or up to a halt. */
export async function driveStory(
  { steps }: Story,
  { turnSecs }: PlayOptions,
  { clock, record, surface }: { clock: SimulatedClock; record: Recorder; surface: Surface },
): Promise<void> {
  const absent = new Set<string>();
  const isPresent = ({ agent }: { readonly agent: string | undefined }) => agent === undefined || !absent.has(agent);
  let hasRested = true;

  async function pass(secs: number): Promise<void> {
    const ms = Math.round(secs * 1000);
    if (ms > 0) await (surface.pass?.(ms) ?? clock.advance(ms));
    surface.check?.();
  }

  /** Does each part until the task is halted. */
  async function each<T>(parts: readonly T[], act: (part: T) => unknown): Promise<void> {
    for (const part of parts) {
      if (record.isHalted) return;
      await act(part);
      surface.check?.();
    }
  }

  async function playTurns(turns: readonly PlayedTurn[]): Promise<void> {
    await each(turns, ({ agent }) => surface.request?.(agent));
    if (!record.isHalted) await pass(turnSecs);
    const left = new Map<PlayedTurn, number>();
    const running: { readonly call: PlayedCall; readonly turn: PlayedTurn }[] = [];
    const finish = async (turn: PlayedTurn, count: number) => {
      left.set(turn, (left.get(turn) ?? 0) + count);
      if (left.get(turn) === 0 && turn.calls.length > 0 && !record.isHalted) await surface.turnEnded?.(turn);
    };
    await each(turns, async (turn) => {
      record.turn = turn.number;
      const calls = await surface.answer(turn);
      running.push(...calls.map((call) => ({ call, turn })));
      await finish(turn, calls.length);
    });
    let passed = 0;
    running.sort((a, b) => a.call.secs - b.call.secs);
    await each(running, async ({ call, turn }) => {
      await pass(call.secs - passed);
      passed = call.secs;
      if (record.isHalted) return;
      record.turn = turn.number;
      await surface.callEnded(call);
      await finish(turn, -1);
    });
    for (let waited = 0; waited < waitedSecsMax && surface.isBusy?.() && !record.isHalted; waited++) await pass(1);
  }

  async function playBeat(beat: Beat): Promise<void> {
    switch (beat.kind) {
      case 'prompt':
        if (!hasRested) await surface.rest?.();
        if (!record.isHalted) await surface.prompt(beat.text);
        return;
      case 'turns':
        return playTurns(beat.turns.filter(isPresent));
      case 'starts': {
        await surface.request?.(undefined);
        if (!record.isHalted) await pass(turnSecs);
        if (record.isHalted) return;
        const started = new Set((await surface.start(beat.agents)).map(({ agent }) => agent));
        for (const { agent } of beat.agents) if (!started.has(agent)) absent.add(agent);
        return;
      }
      case 'end':
        if (isPresent(beat.end)) await surface.end(beat.end);
    }
  }

  await each(planBeats(steps), async (beat) => {
    await playBeat(beat);
    hasRested = beat.kind === 'prompt';
  });
  if (!record.isHalted) await surface.rest?.();
}

/** How long a call may go on after its time. */
const waitedSecsMax = 3_600;

/**
 * Puts together what happens at once: the starts of several subagents, and one turn each of different subagents.
 * Other turns follow each other.
 */
function planBeats(steps: readonly StoryStep[]): readonly Beat[] {
  const beats: Beat[] = [];
  const agents = new Map<string, PlayedAgent>();
  let number = 0;
  for (const [at, step] of steps.entries()) {
    const last = beats.at(-1);
    if ('prompt' in step) beats.push({ kind: 'prompt', text: step.prompt });
    else if ('start' in step) {
      const agent = { id: `toolu_${at}_agent`, agent: step.start, type: step.type, task: step.task };
      agents.set(step.start, agent);
      if (last?.kind === 'starts') beats[beats.length - 1] = { ...last, agents: [...last.agents, agent] };
      else beats.push({ kind: 'starts', agents: [agent] });
    } else if ('end' in step) {
      const agent = agents.get(step.end);
      if (agent === undefined) throw new Error(`the subagent ${step.end} ends before it has started`);
      beats.push({ kind: 'end', end: { ...agent, output: step.output, ok: step.ok ?? true } });
    } else {
      const turn = numberTurn(step, ++number);
      const isBeside = last?.kind === 'turns' && turn.agent !== undefined && isWave(last.turns, turn.agent);
      if (isBeside) beats[beats.length - 1] = { ...last, turns: [...last.turns, turn] };
      else beats.push({ kind: 'turns', turns: [turn] });
    }
  }
  return beats;
}

/** Whether turns are of subagents alone, and not of this one. */
function isWave(turns: readonly PlayedTurn[], agent: string): boolean {
  return turns.every((each) => each.agent !== undefined && each.agent !== agent);
}

function numberTurn({ say, calls = [], agent }: StoryTurn, number: number): PlayedTurn {
  const id = (at: number) => `toolu_${String(number).padStart(4, '0')}_${at}`;
  const played = calls.map((call, at) => ({ ok: true, secs: 0.1, ...call, id: id(at), agent }));
  return { number, agent, say, calls: played };
}
