/** Every experiment by its name. */

import { damage } from './damage.ts';
import { durability } from './durability.ts';
import { outage } from './outage.ts';
import { probes } from './probes.ts';
import { trips } from './trips.ts';
import type { Form, Verdict } from './verdict.ts';

export const experiments: Readonly<Record<string, (form: Form) => Promise<Verdict>>> = {
  probes,
  durability,
  damage,
  outage,
  trips,
};
