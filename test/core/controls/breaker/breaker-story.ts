/** Tells a breaker a story, one row per event, and compares what it became. Judging must never write. */

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Outcome } from '../../../../src/core/action.ts';
import {
  type AdmittedCall,
  countRefusal,
  endWork,
  judgeBreaker,
  recordAdmission,
  recordSettlement,
  renewProbe,
} from '../../../../src/core/controls/breaker/breaker.ts';
import { defaultBreaker } from '../../../../src/core/controls/breaker/defaults.ts';
import { halfOpenBreaker, openBreaker, resetBreaker } from '../../../../src/core/controls/breaker/phases.ts';
import { type BreakerState, initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import { ringSums } from '../../../../src/core/controls/breaker/window.ts';
import type { BreakerSettings } from '../../../../src/core/settings.ts';
import type { Verdict } from '../../../../src/core/verdict.ts';

/** When, what, which phase it is in afterwards, and any other parts of its state. */
export type Row = readonly [
  atMs: number,
  step: string,
  phase: BreakerState['phase'],
  more?: Partial<BreakerState> | undefined,
];

export const settingsOf = (said: Partial<BreakerSettings>): BreakerSettings => ({ ...defaultBreaker, ...said });

export const failure = (errorFingerprint = 0, retryAtMs?: number): Outcome =>
  retryAtMs === undefined
    ? { kind: 'failure', error: 'ToolError', errorFingerprint }
    : { kind: 'failure', error: 'ToolError', errorFingerprint, retryAtMs };

export const neutral: Outcome = { kind: 'neutral', why: 'ignored' };
const successful: Outcome = { kind: 'success' };

/** Judges, and shows that judging left no trace. */
export function judged(state: BreakerState, settings: BreakerSettings, atMs: number): Verdict {
  const before = structuredClone(state);
  const verdict = judgeBreaker(state, settings, atMs);
  assert.deepEqual(state, before, 'judging wrote into the state');
  return verdict;
}

/**
 * Plays the rows. A call at once: `ok`, `fail`, `fail 7` (its error), `fail until 5000` (Retry-After), `neutral`.
 * A call that takes time: `a begins`, then `a ok`, `a fails`, `a neutral`, `a times out`, `a ends`, `a renews`.
 * `refused`, `refused until 5000`, `refused for good`, `busy`: what a caller hears instead.
 * By hand: `hold`, `release`, `reset`, `trip`, `trip until 5000`, `healthy`; `look` does nothing.
 */
export function story(
  said: Partial<BreakerSettings>,
  rows: readonly Row[],
  state: BreakerState = initialBreaker(settingsOf(said)),
): BreakerState {
  const settings = settingsOf(said);
  const calls = new Map<string, AdmittedCall>();
  let ids = 0;
  const begin = (atMs: number): AdmittedCall => {
    assert.equal(judged(state, settings, atMs).kind, 'allow', `at ${atMs} a call is let through`);
    return recordAdmission(state, settings, ++ids, atMs);
  };
  for (const [index, [atMs, step, phase, more = {}]] of rows.entries()) {
    const words = step.split(' ');
    const [first = '', second = '', third = ''] = words;
    switch (first) {
      case 'look':
        break;
      case 'ok':
        recordSettlement(state, settings, begin(atMs), successful, atMs);
        break;
      case 'fail':
        recordSettlement(
          state,
          settings,
          begin(atMs),
          second === 'until' ? failure(0, Number(third)) : failure(Number(second)),
          atMs,
        );
        break;
      case 'neutral':
        recordSettlement(state, settings, begin(atMs), neutral, atMs);
        break;
      case 'refused':
      case 'busy': {
        const verdict = judged(state, settings, atMs);
        assert.ok(verdict.kind === 'deny', `row ${index}: at ${atMs} a call is refused, got ${verdict.kind}`);
        assert.equal(verdict.code, first === 'busy' ? 'concurrency_limit' : 'circuit_open');
        if (second === 'until') assert.equal(verdict.retryAtMs, Number(third), `row ${index}: when to try again`);
        if (second === 'for') assert.equal('retryAtMs' in verdict, false, `row ${index}: there is no time to wait for`);
        countRefusal(state, settings, atMs);
        break;
      }
      case 'hold':
        state.heldAtMs = atMs;
        break;
      case 'release':
        state.heldAtMs = -1;
        break;
      case 'reset':
        resetBreaker(state);
        break;
      case 'trip':
        openBreaker(state, settings, atMs, 'a trip by hand', second === 'until' ? Number(third) : undefined);
        break;
      case 'healthy':
        halfOpenBreaker(state, atMs);
        break;
      default: {
        if (second === 'begins') {
          calls.set(first, begin(atMs));
          break;
        }
        const call = calls.get(first);
        assert.ok(call, `row ${index}: nobody knows the call ${first}`);
        if (second === 'ok') recordSettlement(state, settings, call, successful, atMs);
        else if (second === 'fails') recordSettlement(state, settings, call, failure(Number(third)), atMs);
        else if (second === 'neutral') recordSettlement(state, settings, call, neutral, atMs);
        else if (second === 'times') recordSettlement(state, settings, call, failure(), atMs, true);
        else if (second === 'ends') endWork(state);
        else if (second === 'renews') renewProbe(state, settings, call, atMs);
        else assert.fail(`row ${index}: ${step} is no step`);
      }
    }
    const got = { phase: state.phase, ...pick(seenIn(state, settings), Object.keys(more)) };
    assert.deepEqual(got, { phase, ...more }, `row ${index}: at ${atMs} '${step}'`);
    // `deepEqual` on numbers would call NaN equal to NaN; JSON does not.
    assert.ok(isDeepStrictEqual(JSON.parse(JSON.stringify(state)), state), `row ${index}: the state is plain JSON`);
  }
  return state;
}

/** The state as its readers see it: calls that are only counted yet are in the window as well. */
export function seenIn(state: BreakerState, settings: BreakerSettings): BreakerState {
  const { calls, failures, slow } = ringSums(state, settings);
  return { ...state, ringFilled: calls, ringFailures: failures, ringSlow: slow };
}

function pick(state: BreakerState, keys: readonly string[]): Partial<BreakerState> {
  return Object.fromEntries(keys.map((key) => [key, state[key as keyof BreakerState]]));
}
