/** Requests and tokens a minute of a key, over all gateways on a store: a request waits for a while, or is refused. */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BudgetWindow,
  bookCharge,
  emptyWindow,
  sliceAt,
  usedAt,
} from '../../core/controls/budget/joint-budget.ts';
import { budgetSlices } from '../../core/limits.ts';
import type { JointBudget } from '../../core/settings.ts';
import { HttpError } from '../../http/http-error.ts';
import type { Change, Store } from '../../ports/store.ts';
import type { KeyRecord } from './key-records.ts';

interface RateState {
  readonly requests: BudgetWindow;
  readonly tokens: BudgetWindow;
}

const windowSecs = 60;
/** How long a request may wait for its turn. */
const rateWaitMaxMs = 10_000;
const keepMs = 5 * 60_000;

/** A request that has its turn. */
export interface RateTicket {
  /** Books the tokens that the request used, instead of those that it asked for. */
  settle(tokens: number): void;
}

/**
 * Takes one request and some tokens from the rates of a key. Waits up to 10 s; throws 429 if that is not enough. A
 * request that needs more tokens than a minute has passes alone. With `observe`, a request that would have to wait
 * passes at once, and the function learns why.
 */
export async function takeTurn(
  store: Store,
  record: KeyRecord,
  tokens: number,
  signal: AbortSignal,
  observe?: (reason: string) => void,
): Promise<RateTicket | undefined> {
  const { name, requestsPerMinute, tokensPerMinute } = record;
  const { shared, clock } = store;
  if (shared === undefined || (requestsPerMinute === undefined && tokensPerMinute === undefined)) return undefined;
  const rates = { requests: makeRate('model_calls', requestsPerMinute), tokens: makeRate('tokens', tokensPerMinute) };
  const cell = store.cell<RateState>(`gateway-rate/${name}.`, emptyRates, { keepMs });
  const untilMs = clock.nowMs() + rateWaitMaxMs;
  const book = (state: RateState, atMs: number, requests: number, amount: number): RateState => {
    bookCharge(state.requests, rates.requests, { amount: requests, atMs });
    bookCharge(state.tokens, rates.tokens, { amount, atMs });
    return state;
  };
  for (;;) {
    const atMs = clock.nowMs();
    let turnMs = atMs;
    const change: Change<RateState> = {
      cell,
      update(state) {
        turnMs = Math.max(
          findTurn(state.requests, rates.requests, 1, atMs),
          findTurn(state.tokens, rates.tokens, tokens, atMs),
        );
        return turnMs > atMs && observe === undefined ? 'refuse' : { state: book(state, atMs, 1, tokens) };
      },
    };
    const result = await shared.commit({ changes: [change as Change], queueIfUnavailable: true });
    if (result.status === 'committed' || result.status === 'queued') {
      if (turnMs > atMs) observe?.(`the key ${name} is limited to ${describeRates(record)} a minute`);
      return {
        settle(used) {
          const correct: Change<RateState> = {
            cell,
            update: (state) => ({ state: book(state, atMs, 0, used - tokens) }),
          };
          if (used !== tokens) void shared.commit({ changes: [correct as Change], queueIfUnavailable: true });
        },
      };
    }
    if (turnMs <= atMs) turnMs = atMs + 1_000; // The store is full.
    if (turnMs > untilMs) {
      const secs = Math.max(1, Math.ceil((turnMs - clock.nowMs()) / 1_000));
      const message = `the key ${name} is limited to ${describeRates(record)} a minute: try again in ${secs} s`;
      throw new HttpError(429, 'rate_limit', message, secs);
    }
    await sleep(turnMs - atMs, undefined, { signal });
  }
}

function describeRates({ requestsPerMinute, tokensPerMinute }: KeyRecord): string {
  const parts = [formatCount(requestsPerMinute, 'request'), formatCount(tokensPerMinute, 'token')];
  return parts.filter((part) => part !== undefined).join(' and ');
}

function formatCount(count: number | undefined, unit: string): string | undefined {
  return count === undefined ? undefined : `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function emptyRates(): RateState {
  return { requests: emptyWindow(), tokens: emptyWindow() };
}

function makeRate(unit: JointBudget['unit'], limit = Number.MAX_SAFE_INTEGER): JointBudget {
  return { scope: 'key', unit, limit, windowSecs };
}

/** The time from which a minute has room for an amount; now if it has room, or if nothing is used. */
function findTurn(window: BudgetWindow, rate: JointBudget, amount: number, atMs: number): number {
  const sliceMs = (windowSecs * 1_000) / budgetSlices;
  const hasRoom = (timeMs: number) => {
    const used = usedAt(window, rate, timeMs);
    return used === 0 || used + amount <= rate.limit;
  };
  if (hasRoom(atMs)) return atMs;
  for (let ahead = 1; ahead <= budgetSlices + 1; ahead++) {
    const timeMs = (sliceAt(rate, atMs) + ahead) * sliceMs;
    if (hasRoom(timeMs)) return timeMs;
  }
  return atMs + windowSecs * 1_000;
}
