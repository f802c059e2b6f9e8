/**
 * Keeps in a shared store what gateways must agree on about a conversation: how many of its calls were counted, the
 * hints in its history, and its halt.
 */

import { cellKey } from '../../core/cell-key.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Runtime } from '../../guard/internal.ts';
import type { Store } from '../../ports/store.ts';

/** The stored part of a conversation. */
export interface StoredConversation {
  readonly calls: number;
  /** Hints by the key of the result behind which they stand. */
  readonly hints: readonly (readonly [key: string, text: string])[];
  readonly halt?: { readonly stop: Stop; readonly refusal: Refusal } | undefined;
  /** The conversation that goes on under this name, with another beginning. */
  readonly follows?: string | undefined;
}

export interface StoredConversations {
  /** Reads a conversation; undefined if it is unknown, or the store does not answer. */
  load(id: string): Promise<StoredConversation | undefined>;
  save(id: string, conversation: StoredConversation): void;
}

/** How long a conversation is kept after its last change. */
const keepMs = 24 * 3_600_000;

const unknown: StoredConversation = { calls: 0, hints: [] };

/** Undefined for a store that ends with its process. */
export function createStoredConversations({ store }: Pick<Runtime, 'store'>): StoredConversations | undefined {
  const { shared } = store as Store;
  if (shared === undefined) return undefined;
  const keyOf = (id: string) => cellKey('gateway-conversation', id);
  return {
    async load(id) {
      const key = keyOf(id);
      try {
        const found = (await shared.read(key, 1)).find((each) => each.key === key);
        return found?.state as StoredConversation | undefined;
      } catch {
        return undefined;
      }
    },
    save(id, conversation) {
      const key = keyOf(id);
      const cell = store.cell<StoredConversation>(key, () => unknown, { keepMs });
      const update = (stored: unknown) => ({
        state: merge((stored as StoredConversation | null) ?? unknown, conversation),
      });
      void shared.commit({ changes: [{ cell, update }], queueIfUnavailable: true }).then(() => shared.evict?.(key));
    },
  };
}

/** Counts only grow, and the first hint behind a result stays. */
function merge(stored: StoredConversation, own: StoredConversation): StoredConversation {
  const hints = [...new Map([...own.hints, ...stored.hints])];
  const halt = stored.halt ?? own.halt;
  const follows = stored.follows ?? own.follows;
  return {
    ...{ calls: Math.max(stored.calls, own.calls), hints },
    ...(halt && { halt }),
    ...(follows !== undefined && { follows }),
  };
}
