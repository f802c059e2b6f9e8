/** The one gear of the process, for adapters and the seeds' own names. */

import type { Switchgear } from './front-door.ts';
import { createSwitchgear } from './switchgear.ts';

let shared: Switchgear | undefined;

export function defaultSwitchgear(): Switchgear {
  shared ??= createSwitchgear();
  return shared;
}
