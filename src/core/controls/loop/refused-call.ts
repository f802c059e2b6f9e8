/** A call that was refused and is proposed again unchanged: how often, and whether that is too often. */

import type { Action } from '../../action.ts';
import { refusedCallsMax } from '../../limits.ts';

/** A call that was refused, and how often it was proposed since. */
export interface RefusedCall {
  readonly fingerprint: number;
  name: string;
  times: number;
  /** Before this it makes no sense to propose it again; -1 = no time was given. */
  retryAtMs: number;
  /** The model turn it was last proposed in, where the host tells turns apart: parallel twins are one proposal. */
  turn: string | null;
}

/** How often an action was refused before and is still too early, or 0. */
export function countRefusals(refused: readonly RefusedCall[], action: Action, atMs: number): number {
  const call = refused.find((candidate) => candidate.fingerprint === action.fingerprint);
  if (call === undefined || isRetryDue(call, atMs)) return 0;
  return action.turnId !== undefined && action.turnId === call.turn ? 0 : call.times;
}

export function recordRefusal(refused: RefusedCall[], action: Action, retryAtMs: number, atMs: number): void {
  const { fingerprint, name, turnId } = action;
  if (fingerprint === 0) return;
  const turn = turnId ?? null;
  const call = refused.find((candidate) => candidate.fingerprint === fingerprint);
  if (call === undefined) {
    if (refused.length >= refusedCallsMax) refused.shift();
    refused.push({ fingerprint, name, times: 1, retryAtMs, turn });
    return;
  }
  const isTwin = turn !== null && turn === call.turn;
  if (isRetryDue(call, atMs))
    call.times = 1; // After its time a proposal is no repeat.
  else if (!isTwin) call.times++;
  call.retryAtMs = retryAtMs;
  call.turn = turn;
}

export function forgetRefusal(refused: RefusedCall[], fingerprint: number): void {
  const index = refused.findIndex((candidate) => candidate.fingerprint === fingerprint);
  if (index >= 0) refused.splice(index, 1);
}

function isRetryDue(call: RefusedCall, atMs: number): boolean {
  return call.retryAtMs >= 0 && atMs >= call.retryAtMs;
}
