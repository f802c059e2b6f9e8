/** Every experiment by its name. */

import { budget } from './budget.ts';
import { chains } from './chains.ts';
import { clocks } from './clocks.ts';
import { damage } from './damage.ts';
import { durability } from './durability.ts';
import { outage } from './outage.ts';
import { probes } from './probes.ts';
import { trips } from './trips.ts';
import { endChildren, type Form, type Verdict } from './verdict.ts';

/** Whatever happens in it, it leaves no process behind. */
const tidily = (run: (form: Form) => Promise<Verdict>) => (form: Form) => run(form).finally(endChildren);

/** Experiments that need a Redis. */
export const experimentsOnRedis: ReadonlySet<string> = new Set([
  'probes',
  'outage',
  'trips',
  'budget',
  'clocks',
  'chains',
]);

export const experiments: Readonly<Record<string, (form: Form) => Promise<Verdict>>> = {
  probes: tidily(probes),
  durability: tidily(durability),
  damage: tidily(damage),
  outage: tidily(outage),
  trips: tidily(trips),
  budget: tidily(budget),
  clocks: tidily(clocks),
  chains: tidily(chains),
};
