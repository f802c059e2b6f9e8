/** What admissions of a breaker hand out: small, and shared where nothing in them tells one from another. */

import type { AdmittedCall } from '../core/controls/breaker/breaker.ts';
import { sharedSettingsMax } from '../core/limits.ts';
import type { BreakerPermit } from './api.ts';

let lastProbeId = 0;

/** A number of its own for every probe of the process. */
export function nextProbeId(): number {
  return ++lastProbeId;
}

/** The admission of a call whose work can be cut. */
export interface AbortableCall extends AdmittedCall {
  readonly controller?: AbortController;
}

const grants: AdmittedCall[] = [];

/** The admission of any call of a closed generation: nothing in it tells one breaker from another. */
export function sharedGrant(generation: number): AdmittedCall {
  const grant = grants[generation] ?? { id: 0, generation, probe: false, atMs: -1 };
  if (generation < sharedSettingsMax) grants[generation] = grant;
  return grant;
}

/** The permit of a call of a closed breaker: what is the same for all lives on the prototype. */
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
