/**
 * The part of a shared budget that this process has in hand. It is booked in the store when it is fetched, so that
 * processes together never pass the limit, one that dies overspends nothing, and most calls ask nobody.
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
import type {
  Cell,
  CellUpdate,
  Change,
  PendingEntry,
  SharedStore,
  Transaction,
  TransactionResult,
} from '../../ports/store.ts';

/** The share of what is left that is fetched at once: parts shrink towards the end, and a dead process loses little. */
const part = 0.01;
/** How long a call has to come for what was fetched for it. */
const promiseMs = 100;
/** For how long the store's no is believed without asking again. */
const refusedMs = 1_000;

export interface BudgetAllowance {
  /** Takes what a call needs at worst; or the word against it, which waits where the store has to be asked first. */
  take(amount: number, atMs: number, kind: 'halt' | 'deny'): Stop | undefined;
  /** Books what was used beyond what was taken, or puts back what was not; a call may come back for that. */
  charge(charge: BudgetCharge, comesBack?: boolean): void;
  /** Gives back what is in hand, and from now on whatever comes back. */
  close(): void;
}

export interface BudgetAllowanceOptions {
  /** How long the store keeps the budget after it was last written. */
  readonly keepMs: number | undefined;
  /** What is to be written down of a budget that was just booked on, and hears of it once it is. */
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
  /** A time in the slice that what is in hand is booked in. */
  let sinceMs = 0;
  let wanted = 0;
  let asking = false;
  let askedMs = 0;
  /** How many questions went out. */
  let questions = 0;
  /** Calls that wait for an answer: when they come back, for how much it is asked, and in which question. */
  let waitingCallers: { readonly backAtMs: number; readonly amount: number; readonly question: number }[] = [];
  let closed = false;
  /** What was fetched for calls that wait, and until when it is theirs. */
  let promised = 0;
  let promisedUntilMs = 0;
  /** When the store last had less than was asked for. */
  let refusedAtMs = Number.NEGATIVE_INFINITY;

  const available = (window: BudgetWindow, atMs: number) => limit - usedAt(window, budget, atMs);

  /** As much as is worth a question. */
  function chunk(atMs: number): number {
    return Math.max(0, Math.floor(available(cell.state, atMs) * part));
  }

  function change(update: (window: BudgetWindow) => CellUpdate<BudgetWindow>): Transaction {
    return { changes: [{ cell, update } as unknown as Change], onCommitted: (entries) => entries.forEach(say) };
  }

  function booked(window: BudgetWindow, charge: BudgetCharge): CellUpdate<BudgetWindow> {
    bookCharge(window, budget, charge);
    const noted = notes(window, charge.atMs);
    return { state: { ...window, limit: budget.limit }, entries: noted };
  }

  /** Fetches an amount, or what is left of it. By the sum a store that just forgot knows that money is taken. */
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

  /** Adds the amount that a transaction granted, unless the slice it is booked in is over meanwhile. */
  function fetched(result: TransactionResult, brought: number, needed: number, atMs: number): void {
    const { status } = result;
    // A store that is full says nothing about the budget.
    if (status === 'committed' ? brought < needed : status === 'rejected' && result.by !== 'full') refusedAtMs = atMs;
    if (status !== 'committed') return;
    promise(needed);
    if (!closed && sliceAt(budget, atMs) === sliceAt(budget, sinceMs)) left += brought;
    else write({ amount: -brought, atMs });
  }

  /** Keeps some of what is in hand for a call that comes back soon. */
  function promise(amount: number): void {
    const atMs = clock.nowMs();
    promised = (atMs < promisedUntilMs ? promised : 0) + amount;
    promisedUntilMs = atMs + promiseMs;
  }

  /** Writes into the store what happened, whatever the limit says and whether or not the store is there now. */
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

  /** Somebody else may need what this process reserved, did not use, and is not about to need. */
  function giveBackSpare(): void {
    if (wanted > 0 || asking || shared.health.state !== 'shared') return;
    const atMs = clock.nowMs();
    giveBack(left - 2 * chunk(atMs) - (atMs < promisedUntilMs ? promised : 0));
  }

  /** What is in hand belongs to its slice of the window, and goes back with it. */
  function roll(atMs: number): void {
    if (left > 0 && sliceAt(budget, sinceMs) !== sliceAt(budget, atMs)) giveBack(left);
    sinceMs = atMs;
  }

  /** Asks for everything that is wanted in this tick at once, and again for what was wanted meanwhile. */
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
    giveBackSpare(); // Calls may have ended meanwhile that needed less than they took.
  }

  function want(amount: number): void {
    wanted += amount;
    if (asking) return;
    askedMs = clock.nowMs();
    void ask();
  }

  /**
   * Asks for what a call misses, and says when it comes back. One that is back before the answer is not asked for
   * twice: what nobody came for would stay in hand. Which of those who wait it is does not matter.
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

  /** The next part is fetched before this one is used up: a synchronous call cannot wait for it. */
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
        giveBack(left); // Too little for this call may be enough for somebody else's.
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
    close() {
      closed = true;
      giveBack(left);
    },
  };
}
