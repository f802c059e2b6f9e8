/** Removes cells with their counters and windows from Redis, in the version that the store has. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { RedisConnection } from './connection.ts';
import { unanswered } from './replies.ts';
import type { CellWrite, RequestContext } from './script-arguments.ts';

/** The removals of one writer. */
export interface Removals {
  /** Removes a cell, whatever version this process knows of it; queues the removal if the store does not answer. */
  remove(key: string): Promise<void>;
  /** Cancels queued removals of cells that are written again. */
  forget(keys: readonly string[]): void;
  /** Returns the queued removals and clears the queue. */
  takeQueued(): readonly string[];
}

/** The options of `createRemovals`. */
export interface RemovalOptions {
  readonly connection: () => RedisConnection;
  readonly context: RequestContext;
  offer(removal: CellWrite): Promise<string>;
}

/** The most lost races of one removal; the cell then expires by itself. */
const triesMax = 8;

/** Creates the removals of one writer. */
export function createRemovals({ connection, context, offer }: RemovalOptions): Removals {
  const { names, memory } = context;
  const queued = new Set<string>();

  async function removeCell(key: string): Promise<void> {
    for (let tries = 0; tries < triesMax; tries++) {
      if (!connection().isUp) throw new Error(unanswered);
      const reply = await connection().command(['HMGET', names.part(`c:${key}`), 'v', 's']);
      const [version, text] = reply as (string | null)[];
      if (version === null || version === undefined || text === null) return;
      const removal = { key, expected: Number(version), version: undefined, text: undefined, keepMs: undefined };
      if ((await offer(removal)) !== 'done') continue;
      memory.setCell(key, Number(version) + 0.5, undefined);
      return;
    }
  }

  return {
    async remove(key) {
      try {
        await removeCell(key);
        await connection().command(['DEL', names.part(`s:${key}`), names.part(`m:${key}`)]);
      } catch {
        queued.add(key);
        if (queued.size > queuedTransactionsMax) queued.delete(queued.values().next().value!);
      }
    },
    forget(keys) {
      for (const key of keys) queued.delete(key);
    },
    takeQueued() {
      const keys = [...queued];
      queued.clear();
      return keys;
    },
  };
}
