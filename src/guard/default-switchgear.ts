/** The one gear of the process, for adapters and the seeds' own names. */

import type { Switchgear } from './front-door.ts';
import { createSwitchgear, type Internals } from './switchgear.ts';

let shared: (Switchgear & Internals) | undefined;

export function defaultSwitchgear(): Switchgear {
  return defaultWithInternals();
}

/** The same gear, with what the seeds' names need. */
export function defaultWithInternals(): Switchgear & Internals {
  shared ??= createSwitchgear() as Switchgear & Internals;
  return shared;
}
