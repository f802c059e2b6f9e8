/** Counts unchanged proposals of a refused call. */

import type { Action } from '../../action.ts';
import { refusedCallsMax } from '../../limits.ts';

/** A refused call, and the number of its proposals since. */
export interface RefusedCall {
  readonly fingerprint: number;
  name: string;
  times: number;
  /** Before this time a new proposal is pointless; -1 = no time was given. */
  retryAtMs: number;
  /** The model turn of the last proposal, if the host distinguishes turns: equal parallel calls are one proposal. */
  turn: string | null;
}

/** Equal for calls that differ in volatile fields only. */
export function keyOfCall({ call, fingerprint }: Action): number {
  return call ?? fingerprint;
}

/** Returns how often an action was refused before; 0 if its retry time has come or the turn is the same. */
export function countRefusals(refused: readonly RefusedCall[], action: Action, atMs: number): number {
  const key = keyOfCall(action);
  const call = refused.find(({ fingerprint }) => fingerprint === key);
  if (call === undefined || isRetryDue(call, atMs)) return 0;
  return action.turnId !== undefined && action.turnId === call.turn ? 0 : call.times;
}

/** Records a refused call. */
export function recordRefusal(refused: RefusedCall[], action: Action, retryAtMs: number, atMs: number): void {
  const { name, turnId } = action;
  const fingerprint = keyOfCall(action);
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
    call.times = 1; // After its retry time a proposal is no repeat.
  else if (!isTwin) call.times++;
  call.retryAtMs = retryAtMs;
  call.turn = turn;
}

/** Removes a refused call. */
export function forgetRefusal(refused: RefusedCall[], fingerprint: number): void {
  const index = refused.findIndex((candidate) => candidate.fingerprint === fingerprint);
  if (index >= 0) refused.splice(index, 1);
}

function isRetryDue(call: RefusedCall, atMs: number): boolean {
  return call.retryAtMs >= 0 && atMs >= call.retryAtMs;
}
