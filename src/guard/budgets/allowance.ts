/**
 * The part of a shared budget that this process has reserved. It is recorded in the store when it is reserved, so
 * processes never exceed the limit together, a killed process does not overspend, and most calls need no request.
 */

import {
  type BudgetCharge,
  type BudgetWindow,
  bookCharge,
  limitInUnits,
  sliceAt,
  stopOverBudget,
  usedAt,
} from '../../core/controls/budget/joint-budget.ts';
import type { Entry } from '../../core/event.ts';
import { storeRetryMaxMs } from '../../core/limits.ts';
import { isRetry, retryTimeAfter } from '../../core/retry-delay.ts';
import type { JointBudget } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Cell, CellUpdate, PendingEntry, SharedStore, Transaction, TransactionResult } from '../../ports/store.ts';

/** The share of the remaining budget in one request: amounts shrink near the limit; a killed process loses little. */
const part = 0.01;
/** How long an amount is kept for the call that it was reserved for. */
const promiseMs = 100;
/** How long a refusal of the store is valid without another request. */
const refusedMs = 1_000;

export interface BudgetAllowance {
  /** Reserves the maximum cost of a call; otherwise returns a stop, of kind 'wait' if the store must be asked first. */
  take(amount: number, atMs: number, kind: 'halt' | 'deny'): Stop | undefined;
  /**
   * Adds usage beyond the reserved amount, or returns the unused part. With `comesBack`, keeps the unused part for the
   * retry of the call.
   */
  charge(charge: BudgetCharge, comesBack?: boolean): void;
  /** What this process has in hand, which the store counts as used. */
  readonly left: number;
  /** Returns the allowance to the store, and later also every returned amount. */
  close(): void;
}

export interface BudgetAllowanceOptions {
  /** How long the store retains the budget after the last write. */
  readonly keepMs: number | undefined;
  /** The entries to write with a reservation. */
  notes(window: BudgetWindow, atMs: number): readonly PendingEntry[];
  say(entry: Entry): void;
}

export function createBudgetAllowance(
  shared: SharedStore,
  clock: Clock,
  budget: JointBudget,
  cell: Cell<BudgetWindow>,
  { keepMs, notes, say }: BudgetAllowanceOptions,
): BudgetAllowance {
  const limit = limitInUnits(budget);
  let left = 0;
  /** A time in the slice of the current allowance. */
  let sinceMs = 0;
  let wanted = 0;
  let asking = false;
  let askedMs = 0;
  /** The number of requests to the store so far. */
  let questions = 0;
  /** Waiting calls: when they return, the requested amount, and the number of the request. */
  let waitingCallers: { readonly backAtMs: number; readonly amount: number; readonly question: number }[] = [];
  let closed = false;
  /** The amount reserved for waiting calls, and until when it is kept. */
  let promised = 0;
  let promisedUntilMs = 0;
  /** The time at which the store last granted less than requested. */
  let refusedAtMs = Number.NEGATIVE_INFINITY;

  const available = (window: BudgetWindow, atMs: number) => limit - usedAt(window, budget, atMs);

  /** The amount to request at once. */
  function chunk(atMs: number): number {
    return Math.max(0, Math.floor(available(cell.state, atMs) * part));
  }

  function change(update: (window: BudgetWindow) => CellUpdate<BudgetWindow>): Transaction {
    return { changes: [{ cell, update }], onCommitted: (entries) => entries.forEach(say) };
  }

  function booked(window: BudgetWindow, charge: BudgetCharge): CellUpdate<BudgetWindow> {
    bookCharge(window, budget, charge);
    const noted = notes(window, charge.atMs);
    return { state: { ...window, limit: budget.limit }, entries: noted };
  }

  /**
   * Makes the transaction that reserves an amount, or the rest of the budget if that is less. The addition to a
   * counter marks the transaction as spending, which a store refuses while it recovers lost data.
   */
  function fetching(
    amount: number,
    atMs: number,
  ): { readonly transaction: Transaction; readonly brought: () => number } {
    let granted = 0;
    const update = (window: BudgetWindow): CellUpdate<BudgetWindow> => {
      granted = Math.min(amount, available(window, atMs));
      if (granted <= 0) return 'refuse';
      return booked(window, { amount: granted, atMs });
    };
    const grant = { key: `${cell.key}/grants`, amount: 1, ceiling: Number.MAX_SAFE_INTEGER };
    const adds = [keepMs === undefined ? grant : { ...grant, keepMs }];
    return { transaction: { ...change(update), adds }, brought: () => granted };
  }

  /** Adds the amount that a transaction granted, unless its slice has ended. */
  function fetched(result: TransactionResult, brought: number, needed: number, atMs: number): void {
    const { status } = result;
    // A rejection by a full store does not mean that the budget is used up.
    if (status === 'committed' ? brought < needed : status === 'rejected' && result.by !== 'full') refusedAtMs = atMs;
    if (status !== 'committed') return;
    promise(needed);
    if (!closed && sliceAt(budget, atMs) === sliceAt(budget, sinceMs)) left += brought;
    else write({ amount: -brought, atMs });
  }

  /** Keeps a part of the allowance for a call that returns soon. */
  function promise(amount: number): void {
    const atMs = clock.nowMs();
    promised = (atMs < promisedUntilMs ? promised : 0) + amount;
    promisedUntilMs = atMs + promiseMs;
  }

  /** Writes a charge to the store, regardless of the limit, now or when the store is available. */
  function write(charge: BudgetCharge): void {
    shared.commitNow({ ...change((window) => booked(window, charge)), queueIfUnavailable: true });
  }

  function giveBack(amount: number): void {
    if (amount <= 0) return;
    left -= amount;
    write({ amount: -amount, atMs: sinceMs });
  }

  function use(amount: number): void {
    left -= amount;
    promised -= Math.min(promised, amount);
  }

  /** Returns the part of the allowance that this process does not need soon to the store. */
  function giveBackSpare(): void {
    if (wanted > 0 || asking || shared.health.state !== 'shared') return;
    const atMs = clock.nowMs();
    giveBack(left - 2 * chunk(atMs) - (atMs < promisedUntilMs ? promised : 0));
  }

  /** Returns the allowance when its slice of the window ends. */
  function roll(atMs: number): void {
    if (left > 0 && sliceAt(budget, sinceMs) !== sliceAt(budget, atMs)) giveBack(left);
    sinceMs = atMs;
  }

  /** Requests all amounts of this tick at once, then the amounts that were added meanwhile. */
  async function ask(): Promise<void> {
    asking = true;
    await undefined;
    while (wanted > 0 && !closed) {
      const atMs = clock.nowMs();
      roll(atMs);
      const needed = wanted;
      wanted = 0;
      const question = ++questions;
      const { transaction, brought } = fetching(Math.max(needed, chunk(atMs)), atMs);
      const result = await shared.commit(transaction);
      fetched(result, brought(), needed, atMs);
      waitingCallers = waitingCallers.filter((call) => call.question > question);
    }
    asking = false;
    giveBackSpare(); // Calls that ended meanwhile may have used less than reserved.
  }

  function want(amount: number): void {
    wanted += amount;
    if (asking) return;
    askedMs = clock.nowMs();
    void ask();
  }

  /**
   * Requests the missing amount of a call, and returns when the call should retry. Does not request the same amount
   * twice when a caller retries before the store has replied: the second grant would stay unused.
   */
  function sendAway(missing: number, atMs: number): number {
    const known = isRetry(waitingCallers[0]?.backAtMs, atMs) ? waitingCallers.shift()! : undefined;
    const { amount, question } = known ?? { amount: 0, question: 0 };
    if (missing > amount) want(missing - amount);
    const backAtMs = retryTimeAfter(atMs, askedMs);
    waitingCallers.push({
      backAtMs,
      amount: Math.max(missing, amount),
      question: missing > amount ? questions + 1 : question,
    });
    return backAtMs;
  }

  /** Requests the next part before the current one is used up, because a synchronous call cannot wait. */
  function fetchAhead(atMs: number): void {
    const next = chunk(atMs);
    if (left < next / 2 && !asking && !closed && shared.health.state === 'shared') want(next);
  }

  function against(amount: number, atMs: number, kind: 'halt' | 'deny'): Stop {
    return stopOverBudget(budget, Math.max(limit + 1, usedAt(cell.state, budget, atMs) - left + amount), kind);
  }

  function notNow(amount: number, atMs: number, retryAtMs: number, kind: 'wait' | 'deny', reason: string): Stop {
    return { ...against(amount, atMs, 'deny'), kind, reason, retryAtMs };
  }

  return {
    take(amount, atMs, kind) {
      if (closed)
        return notNow(amount, atMs, retryTimeAfter(atMs, atMs), 'deny', `the ${budget.scope} budget was just replaced`);
      roll(atMs);
      if (amount <= left) {
        use(amount);
        fetchAhead(atMs);
        return undefined;
      }
      const missing = amount - left;
      const { transaction, brought } = fetching(Math.max(missing, chunk(atMs)), atMs);
      const result = shared.commitNow(transaction);
      fetched(result, brought(), missing, atMs);
      if (amount <= left) {
        use(amount);
        return undefined;
      }
      if (atMs - refusedAtMs < refusedMs) {
        const stop = against(amount, atMs, kind);
        giveBack(left); // The rest is too little for this call, but may be enough for another process.
        return stop;
      }
      if (shared.health.state === 'degraded') {
        const reason = `the store of the ${budget.scope} budget is away, and what this process had of it is used`;
        return notNow(amount, atMs, atMs + storeRetryMaxMs, 'deny', reason);
      }
      const reason = `more of the ${budget.scope} budget is being fetched`;
      return { ...notNow(amount, atMs, sendAway(missing, atMs), 'wait', reason), pending: true };
    },
    charge({ amount, atMs }, comesBack) {
      if (amount > 0) {
        roll(atMs);
        const inHand = Math.min(left, amount);
        left -= inHand;
        if (amount > inHand) write({ amount: amount - inHand, atMs });
        fetchAhead(atMs);
        return;
      }
      const isSame = sliceAt(budget, atMs) === sliceAt(budget, sinceMs);
      if (!isSame || closed) {
        write({ amount, atMs });
        return;
      }
      left -= amount;
      if (comesBack) promise(-amount);
      giveBackSpare();
    },
    get left() {
      return left;
    },
    close() {
      closed = true;
      giveBack(left);
    },
  };
}
