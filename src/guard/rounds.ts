/** Rounds on the route: a wait or a question brings an action back to be judged again, at most so many times. */

import type { Action } from '../core/action.ts';
import { roundsMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import { askPerson } from './approval.ts';
import { fingerprint } from './fingerprint.ts';
import { type Admission, isStop } from './guard.ts';
import type { Lane } from './lanes.ts';
import { finalStop } from './refusing.ts';
import type { Runner } from './run.ts';
import { sleepUntil } from './waiting.ts';

type Rounds = Pick<Runner, 'guard' | 'clock' | 'asking'>;

/** The permit that came of it, or the last word against it. `act` makes the action anew for each round. */
export async function laterRounds(
  runner: Rounds,
  lane: Lane,
  args: readonly unknown[],
  first: Stop,
  act: () => Action,
): Promise<Admission> {
  const { guard, clock, asking } = runner;
  let stop = first;
  let approvedBy: string | undefined;
  for (let round = 1; round < roundsMax; round++) {
    if (stop.kind === 'wait') await sleepUntil(runner, lane.task, stop.retryAtMs ?? 0);
    else if (stop.kind === 'ask') {
      const asked = fingerprint('', args);
      const answer = await askPerson(asking, lane, stop);
      if (answer.stop !== undefined) return conclude(runner, lane, act(), answer.stop, 'ask');
      // A yes is for the arguments as they were: changed meanwhile, they are asked about anew.
      approvedBy = fingerprint('', args) === asked ? answer.approvedBy : undefined;
    } else return stop;
    const action = act();
    const admission = guard.admit(lane, approvedBy === undefined ? action : { ...action, approvedBy }, clock.nowMs());
    if (!isStop(admission)) return admission;
    stop = admission;
  }
  return stop.kind === 'wait' || stop.kind === 'ask' ? conclude(runner, lane, act(), stop, stop.kind) : stop;
}

/** Nobody said yes, or could wait: the refusal counts like any other. */
export function conclude(
  { guard, clock }: Rounds,
  lane: Lane,
  action: Action,
  stop: Stop,
  after: 'wait' | 'ask',
): Stop {
  return guard.conclude(lane, action, finalStop(stop), after, clock.nowMs());
}
