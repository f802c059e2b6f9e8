/** Plays every short history of calls on two breakers side by side and says where they part. */

import { type Breaker, type BreakerOptions, type BreakerPermit, createBreaker } from '../../src/breaker.ts';
import type { Outcome } from '../../src/core/action.ts';
import { type SimulatedClock, simulatedClock } from '../../src/testing/simulated-clock.ts';

const failed: Outcome = { kind: 'failure', error: 'ToolError', errorFingerprint: 0 };

/** One breaker in a history, with the calls that are out. */
export interface Stage {
  clock: SimulatedClock;
  breaker: Breaker;
  readonly out: BreakerPermit[];
}

/** What makes one of the two different: something done at the start, or before each step. */
export interface Twist {
  readonly start?: (stage: Stage) => void;
  readonly each?: (stage: Stage, options: BreakerOptions, step: number) => void;
}

const steps: Readonly<Record<string, (stage: Stage) => string>> = {
  ok: ({ breaker }) => {
    const permit = breaker.admit();
    if (!permit.refused) breaker.settle(permit);
    return permit.refused ? permit.code : 'passed';
  },
  fail: ({ breaker }) => {
    const permit = breaker.admit();
    if (!permit.refused) breaker.settle(permit, failed);
    return permit.refused ? permit.code : 'passed';
  },
  begin: ({ breaker, out }) => {
    const permit = breaker.admit();
    if (!permit.refused) out.push(permit);
    return permit.refused ? permit.code : 'began';
  },
  'end well': ({ breaker, out }) => end(breaker, out.shift(), { kind: 'success' }),
  'end badly': ({ breaker, out }) => end(breaker, out.shift(), failed),
  wait: ({ clock }) => {
    clock.advance(60_000);
    return '';
  },
  hold: ({ breaker }) => {
    breaker.hold();
    return '';
  },
  release: ({ breaker }) => {
    breaker.release();
    return '';
  },
};

function end(breaker: Breaker, permit: BreakerPermit | undefined, outcome: Outcome): string {
  if (permit !== undefined) breaker.settle(permit, outcome);
  return '';
}

/** Plays all histories of a length. Returns how many, which states they saw, and the first that parted, in words. */
export function compare(
  options: BreakerOptions,
  length: number,
  twist: Twist,
): { readonly histories: number; readonly seen: readonly string[]; readonly parted: string | undefined } {
  const names = Object.keys(steps);
  const histories = names.length ** length;
  const seen = new Set<string>();
  for (let number = 0; number < histories; number++) {
    const plain = stageOf(options);
    const other = stageOf(options);
    twist.start?.(other);
    const told: string[] = [];
    for (let step = 0, rest = number; step < length; step++, rest = Math.floor(rest / names.length)) {
      twist.each?.(other, options, step);
      const name = names[rest % names.length]!;
      const [here, there] = [plain, other].map((stage) => {
        const answer = steps[name]!(stage);
        const { countedFailures: run, trips } = stage.breaker.stats;
        return `${name} ${answer} ${stage.breaker.state} ${run} ${trips}`;
      });
      seen.add(plain.breaker.state);
      told.push(here!);
      if (here !== there) return { histories, seen: [...seen], parted: `${told.join(' > ')} but ${there}` };
    }
  }
  return { histories, seen: [...seen], parted: undefined };
}

function stageOf(options: BreakerOptions): Stage {
  const clock = simulatedClock(1_000);
  return { clock, breaker: createBreaker({ ...options, clock }), out: [] };
}
