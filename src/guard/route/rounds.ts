/** Judges an action again after a wait or a question, a bounded number of times. */

import type { Action } from '../../core/action.ts';
import { roundsMax } from '../../core/limits.ts';
import type { Stop } from '../../core/verdict.ts';
import { fingerprint } from '../runtime/fingerprint.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { onHalt } from '../tasks/task.ts';
import { type AdmitResult, admitAction, isStop, needsAnotherRound, refuseForGood } from './admission.ts';
import type { CallSite } from './call-site.ts';

/** Returns a permit or the final stop. `act` makes the action again for each round. */
export async function laterRounds(
  runtime: Runtime,
  site: CallSite,
  args: readonly unknown[],
  first: Stop,
  act: () => Action,
): Promise<AdmitResult> {
  let stop = first;
  let approvedBy: string | undefined;
  for (let round = 1; round < roundsMax && !runtime.isDisposed; round++) {
    if (stop.kind === 'wait') await sleepUntil(runtime, site, stop.retryAtMs ?? 0);
    else if (stop.kind === 'ask') {
      const asked = fingerprint('', args);
      const said = await runtime.ask(runtime, site, stop);
      if (typeof said !== 'string') return refuseForGood(runtime, site, act(), said, 'ask');
      // An approval is for the original arguments: if they have changed, a person is asked again.
      approvedBy = fingerprint('', args) === asked ? said : undefined;
    } else return stop;
    if (runtime.isDisposed) break;
    const action = act();
    const again = approvedBy === undefined ? action : { ...action, approvedBy };
    const admission = admitAction(runtime, site, again, runtime.clock.nowMs());
    if (!isStop(admission)) return admission;
    stop = admission;
  }
  return needsAnotherRound(stop) ? refuseForGood(runtime, site, act(), stop) : stop;
}

/** Waits until a time of the gear's clock, until the task ends, or until the gear is disposed. */
function sleepUntil({ clock, waiting }: Runtime, { task }: CallSite, untilMs: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      waiting.delete(wake);
      stop();
      forget();
      resolve();
    };
    const stop = clock.after(Math.max(0, untilMs - clock.nowMs()), wake, true);
    const forget = onHalt(task, wake);
    waiting.set(wake, wake);
  });
}
