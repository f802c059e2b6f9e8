/** Processes that leave something unfinished behind: each should end as soon as an empty one. */

import { fail, loadBreaker, loadGear, succeed } from './library.ts';

const forever = () => new Promise<never>(() => {});

/** Argument: what is left behind when the process has nothing more to do. */
export async function leave([kind = '']: readonly string[]): Promise<void> {
  const { createBreaker } = await loadBreaker();
  const { createSwitchgear } = await loadGear();
  const gear = createSwitchgear({ log: 'silent', env: {} });
  switch (kind) {
    case 'nothing':
      return;
    case 'open breaker': {
      const breaker = createBreaker({ failureThreshold: 1 });
      await breaker.execute(fail, 0).catch(() => {});
      await breaker.execute(succeed, 0).catch(() => {});
      return;
    }
    case 'hung call with a timeout':
      createBreaker({ timeoutSecs: 30 }).execute(forever);
      return;
    case 'hung tool in a task':
      void gear.task({}, () => gear.guard('forever', forever)());
      return;
    case 'idle task':
      gear.startTask();
      return;
    default:
      throw new Error(`nothing is left behind by ${JSON.stringify(kind)}`);
  }
}
