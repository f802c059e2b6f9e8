/** The permits and grants of standalone breakers: small objects, shared wherever their content is equal. */

import type { AdmittedCall } from '../core/controls/breaker/breaker.ts';
import { sharedSettingsMax } from '../core/limits.ts';
import type { BreakerPermit } from './api.ts';

let lastProbeId = 0;

/** Returns a number that is unique among the probes of the process. */
export function nextProbeId(): number {
  return ++lastProbeId;
}

/** The grant of a call whose work can be aborted. */
export interface AbortableCall extends AdmittedCall {
  readonly controller?: AbortController;
}

const grants: AdmittedCall[] = [];

/** The grant of every call in a closed generation: its content is the same for all breakers. */
export function sharedGrant(generation: number): AdmittedCall {
  const grant = grants[generation] ?? { id: 0, generation, probe: false, atMs: -1 };
  if (generation < sharedSettingsMax) grants[generation] = grant;
  return grant;
}

/** The permit of a call of a closed breaker; constant fields live on the prototype. */
export class ClosedPermit implements BreakerPermit {
  declare readonly id: number;
  declare readonly probe: false;
  declare readonly atMs: number;
  declare readonly refused: false;
  readonly generation: number;
  settled = false;

  constructor(generation: number) {
    this.generation = generation;
  }
}
Object.assign(ClosedPermit.prototype, { id: 0, probe: false, atMs: 0, refused: false });
