/** Notices an agent that repeats itself: the same words again and again, or a refused call proposed unchanged. */

import type { Action } from './action.ts';
import type { Control } from './control.ts';
import { refusedCallsMax } from './limits.ts';
import type { LoopSettings } from './settings.ts';
import { allow, type Verdict } from './verdict.ts';

/** A call that was refused, and how often it was proposed since. */
interface RefusedCall {
  readonly fingerprint: number;
  name: string;
  times: number;
  /** Before this it makes no sense to propose it again; -1 = no time was given. */
  retryAtMs: number;
  /** The model turn it was last proposed in, where the host tells turns apart: parallel twins are one proposal. */
  turn: string | null;
}

export interface LoopState {
  /** Outputs in a row that were alike, less one; and the smallest likeness among them. */
  alike: number;
  likeness: number;
  refused: RefusedCall[];
}

export function loop(settings: LoopSettings): Control<LoopState> {
  return {
    name: 'loop',
    scope: 'task',
    initial: () => ({ alike: 0, likeness: 1, refused: [] }),

    judge(state, { action, atMs }) {
      if (state.refused.length === 0 || action.fingerprint === 0) return allow;
      const call = state.refused.find((candidate) => candidate.fingerprint === action.fingerprint);
      if (call === undefined || call.times < settings.refusedRepeats || isOver(call, atMs)) return allow;
      if (action.turnId !== undefined && action.turnId === call.turn) return allow;
      return {
        kind: 'halt',
        code: 'tool_loop',
        control: 'loop',
        counters: { name: action.name, actual: call.times + 1, limit: settings.refusedRepeats },
      };
    },

    apply(state, event) {
      switch (event.type) {
        case 'action-decided': {
          const { action, verdict } = event;
          if (action.fingerprint === 0 || verdict.kind === 'wait' || verdict.kind === 'ask') return state;
          if (verdict.kind === 'allow') {
            if (state.refused.length > 0) forget(state, action.fingerprint);
          } else {
            remember(state, action, verdict.retryAtMs ?? -1, event.atMs);
          }
          return state;
        }
        case 'text-observed':
          if (event.similarity >= settings.similarityJaccardThreshold) {
            state.likeness = state.alike === 0 ? event.similarity : Math.min(state.likeness, event.similarity);
            state.alike++;
          } else {
            state.alike = 0;
            state.likeness = 1;
          }
          return state;
        case 'user-observed':
          state.alike = 0; // Genuinely new words from a person: what follows is a new piece of work.
          state.likeness = 1;
          state.refused = [];
          return state;
        default:
          return state; // Nothing else says that the agent repeats itself.
      }
    },

    check(state): Verdict {
      if (state.alike < settings.windowSize - 1) return allow;
      return {
        kind: 'halt',
        code: 'output_loop',
        control: 'loop',
        counters: {
          actual: state.alike + 1,
          limit: settings.windowSize,
          similarity: state.likeness,
          threshold: settings.similarityJaccardThreshold,
        },
      };
    },
  };
}

function isOver(call: RefusedCall, atMs: number): boolean {
  return call.retryAtMs >= 0 && atMs >= call.retryAtMs;
}

function remember(state: LoopState, action: Action, retryAtMs: number, atMs: number): void {
  const { fingerprint, name, turnId } = action;
  const turn = turnId ?? null;
  const call = state.refused.find((candidate) => candidate.fingerprint === fingerprint);
  if (call === undefined) {
    if (state.refused.length >= refusedCallsMax) state.refused.shift();
    state.refused.push({ fingerprint, name, times: 1, retryAtMs, turn });
    return;
  }
  const isTwin = turn !== null && turn === call.turn;
  if (isOver(call, atMs))
    call.times = 1; // After its time a proposal is no repeat.
  else if (!isTwin) call.times++;
  call.retryAtMs = retryAtMs;
  call.turn = turn;
}

function forget(state: LoopState, fingerprint: number): void {
  const at = state.refused.findIndex((candidate) => candidate.fingerprint === fingerprint);
  if (at >= 0) state.refused.splice(at, 1);
}
