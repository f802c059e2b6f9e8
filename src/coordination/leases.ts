/** Leases: a sum is spent in small parts that each process has in hand, so that most spending asks nobody. */

import { leasesMax } from '../core/limits.ts';
import type { Lease, Transaction, TransactionResult } from '../ports/store.ts';

/** What a lease needs of its store. */
export interface LeaseStore {
  commitNow(transaction: Transaction): TransactionResult;
  commit(transaction: Transaction): Promise<TransactionResult>;
  counter(key: string): number;
}

/** The share of what is left that is taken at once: parts shrink towards the end, and a dead process loses little. */
const part = 0.01;

export function createLeases(store: LeaseStore): { lease(key: string, ceiling: number): Lease; closeAll(): void } {
  const leases = new Map<string, Lease>();
  return {
    lease(key, ceiling) {
      let lease = leases.get(key);
      if (lease === undefined) {
        if (leases.size >= leasesMax) {
          const [oldest, first] = leases.entries().next().value!;
          first.close();
          leases.delete(oldest);
        }
        lease = createLease(store, key, ceiling);
        leases.set(key, lease);
      }
      return lease;
    },
    closeAll() {
      for (const lease of leases.values()) lease.close();
      leases.clear();
    },
  };
}

function createLease(store: LeaseStore, key: string, ceiling: number): Lease {
  let left = 0;
  let request: Promise<boolean> | undefined;

  function addTransaction(amount: number): Transaction {
    return { adds: [{ key, amount, ceiling }] };
  }

  /** As much as is worth a question, and at least what is missing. */
  function chunkSize(missing: number): number {
    return Math.max(missing, Math.floor((ceiling - store.counter(key)) * part));
  }

  function applyGrant(result: TransactionResult, amount: number): boolean {
    if (result.status === 'committed') left += amount;
    return result.status === 'committed';
  }

  async function requestMore(missing: number): Promise<boolean> {
    const amount = chunkSize(missing);
    const result = await store.commit(addTransaction(amount));
    if (applyGrant(result, amount)) return true;
    // A part is too much towards the end; what is missing may still be there.
    return (
      result.status === 'rejected' &&
      amount > missing &&
      applyGrant(await store.commit(addTransaction(missing)), missing)
    );
  }

  function giveBack(amount: number): void {
    if (amount !== 0) store.commitNow({ adds: [{ key, amount: -amount }], queueIfUnavailable: true });
  }

  return {
    get left() {
      return left;
    },
    take(amount) {
      if (!(amount <= left)) return false;
      left -= amount;
      return true;
    },
    moreNow(amount) {
      const missing = amount - left;
      if (missing <= 0) return true;
      const wanted = chunkSize(missing);
      const result = store.commitNow(addTransaction(wanted));
      if (applyGrant(result, wanted)) return true;
      return (
        result.status === 'rejected' &&
        wanted > missing &&
        applyGrant(store.commitNow(addTransaction(missing)), missing)
      );
    },
    async more(amount) {
      while (request !== undefined) await request;
      if (left >= amount) return true;
      request = requestMore(amount - left);
      try {
        return await request;
      } finally {
        request = undefined;
      }
    },
    back(amount) {
      left += amount;
      if (left >= 0) return;
      giveBack(left); // More was spent than was taken: that is booked at once, whatever the ceiling says.
      left = 0;
    },
    close() {
      giveBack(left);
      left = 0;
    },
  };
}
