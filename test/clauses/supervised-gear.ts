/** A gear whose delegations are looked at, for the clauses about workers. */

import { createSwitchgear, type SwitchgearOptions } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

export function supervised(options: SwitchgearOptions = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, session: 's', ...options });
  const failures = (worker = 'chef_team') => gear.snapshot().delegations.s?.[worker] ?? 0;
  return { clock, gear, failures };
}

/** A worker that counts how often it ran and gives the same answer each time. */
export function worker(answer: unknown) {
  const counted = Object.assign(
    () => {
      counted.ran++;
      return answer;
    },
    { ran: 0 },
  );
  return counted;
}
