/** Shares the failure counts of workers between processes: each failure is one transaction with its entry. */

import { type DelegationState, workerLimit } from '../core/controls/delegation/delegation.ts';
import type { Entry, EntryBody } from '../core/event.ts';
import { workerKeepMs } from '../core/limits.ts';
import type { WorkerSharing } from '../ports/sharing.ts';
import type { CellUpdate, Transaction, TransactionResult } from '../ports/store.ts';

/** Keeps the reason and outcome of the last attempt local: the error text does not leave the process. */
function adopt({ lastReason, failedLast }: DelegationState, stored: DelegationState): DelegationState {
  return { ...stored, lastReason, failedLast };
}

/** Returns the state with more failures. */
function join(local: DelegationState, stored: DelegationState): DelegationState {
  return local.failures > stored.failures ? local : stored;
}

/** Creates the sharing of worker failure counts over a store. */
export function shareWorkers(store: { commitNow(transaction: Transaction): TransactionResult }): WorkerSharing {
  return {
    cell: { adopt, join, keepMs: workerKeepMs },
    bind: (control, cell, settings, place, publisher) => ({
      ...control,
      apply(state, event, scopeOwner) {
        const { failures, lastFailureAtMs } = state;
        const next = control.apply(state, event, scopeOwner);
        if (next.failures === failures && next.lastFailureAtMs === lastFailureAtMs) return next;
        const update = (stored: DelegationState): CellUpdate<DelegationState> => {
          const counted = { ...control.apply(stored, event, scopeOwner), lastReason: '', failedLast: false };
          if (event.type !== 'delegation-returned' || publisher === undefined) return { state: counted };
          const { atMs, ...body } = event;
          const full = { ...body, actual: counted.failures, limit: workerLimit(settings, event.worker) };
          return { state: counted, entries: [{ body: publisher.redact(full), place, atMs }] };
        };
        const reason = 'reason' in event ? { reason: event.reason } : {};
        const onCommitted = (entries: readonly Entry[]) =>
          entries.forEach((entry) => void publisher?.publish(entry, { ...entry, ...reason } as EntryBody));
        store.commitNow({ changes: [{ cell, update }], queueIfUnavailable: true, onCommitted });
        return cell.state;
      },
    }),
  };
}
