/** The one gear of the process, for adapters and the seeds' own names. */

import type { Switchgear } from './api.ts';
import { createSwitchgear } from './create-switchgear.ts';

let shared: Switchgear | undefined;

export function defaultSwitchgear(): Switchgear {
  shared ??= createSwitchgear();
  return shared;
}
