/** Leases: a sum is spent in small parts that each process has in hand, so that most spending asks nobody. */

import { leasesMax } from '../core/limits.ts';
import type { Deal, Dealt, Lease } from '../ports/store.ts';

/** What a lease needs of its store. */
export interface Bank {
  now(deal: Deal): Dealt;
  soon(deal: Deal): Promise<Dealt>;
  sum(key: string): number;
}

/** The share of what is left that is taken at once: parts shrink towards the end, and a dead process loses little. */
const part = 0.01;

export function createLeases(bank: Bank): { lease(key: string, ceiling: number): Lease; closeAll(): void } {
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
        lease = createLease(bank, key, ceiling);
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

function createLease(bank: Bank, key: string, ceiling: number): Lease {
  let left = 0;
  let asking: Promise<boolean> | undefined;

  function deal(amount: number): Deal {
    return { sums: [{ key, amount, ceiling }] };
  }

  /** As much as is worth a question, and at least what is missing. */
  function chunk(missing: number): number {
    return Math.max(missing, Math.floor((ceiling - bank.sum(key)) * part));
  }

  function got(dealt: Dealt, amount: number): boolean {
    if (dealt.status === 'done') left += amount;
    return dealt.status === 'done';
  }

  async function ask(missing: number): Promise<boolean> {
    const amount = chunk(missing);
    const dealt = await bank.soon(deal(amount));
    if (got(dealt, amount)) return true;
    // A part is too much towards the end; what is missing may still be there.
    return dealt.status === 'refused' && amount > missing && got(await bank.soon(deal(missing)), missing);
  }

  function giveBack(amount: number): void {
    if (amount !== 0) bank.now({ sums: [{ key, amount: -amount }], mustArrive: true });
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
      const wanted = chunk(missing);
      const dealt = bank.now(deal(wanted));
      if (got(dealt, wanted)) return true;
      return dealt.status === 'refused' && wanted > missing && got(bank.now(deal(missing)), missing);
    },
    async more(amount) {
      while (asking !== undefined) await asking;
      if (left >= amount) return true;
      asking = ask(amount - left);
      try {
        return await asking;
      } finally {
        asking = undefined;
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
