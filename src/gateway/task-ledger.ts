/**
 * Keeps in a shared store what the tasks of a gateway have spent, so that a gateway that is started again goes on from
 * there. Running calls are stored with what they have cost so far: after a crash that counts as spent.
 */

import type { Cost } from '../core/action.ts';
import { cellKey } from '../core/cell-key.ts';
import type { Runtime, TaskState } from '../guard/internal.ts';
import type { CounterAdd, Store } from '../ports/store.ts';
import { ledgerSaveMs, namedTaskIdleMs } from './limits.ts';

const units = ['micros', 'tokens', 'modelCalls'] as const;

/** What a task has spent. */
export type TaskSpend = Readonly<Record<(typeof units)[number], number>>;

/** How a task is stored. */
export interface LedgerPlace {
  /** The id under which the task is found again. */
  readonly id: string;
  readonly keepMs: number;
}

export interface TaskLedger {
  /** Reads what a task has spent before; nothing if the store does not answer. */
  load(id: string): Promise<TaskSpend>;
  /** What relieves a task of what it has spent, for the transaction that hands it back. */
  relieve(id: string, spent: TaskSpend): readonly CounterAdd[];
  /** Begins to store the spending of a task. */
  follow(task: TaskState, place: LedgerPlace, spent: TaskSpend): void;
  /** Adds to what the running calls of a task have cost so far, and saves it soon. */
  expect(task: TaskState, change: Pick<Cost, 'micros' | 'tokens'>): void;
  /** Stores what a task and the tasks above it have spent since the last time, at the end of this turn. */
  save(task: TaskState): void;
  /** Stores at once what is to be stored. */
  flush(): void;
}

interface Followed extends LedgerPlace {
  /** The key of the counter of each unit. */
  readonly keys: readonly string[];
  saved: TaskSpend;
  /** What running calls have cost so far. */
  micros: number;
  tokens: number;
}

const nothing: TaskSpend = { micros: 0, tokens: 0, modelCalls: 0 };

/** Creates the ledger; undefined for a store that ends with its process. */
export function createTaskLedger({ store, clock }: Pick<Runtime, 'store' | 'clock'>): TaskLedger | undefined {
  const shared = (store as Store).shared;
  if (shared?.readCounters === undefined) return undefined;
  const followed = new WeakMap<TaskState, Followed>();
  const keysOf = (id: string) => units.map((unit) => cellKey('gateway-task', id, unit));
  /** Tasks that are stored when this turn of the event loop ends, each once for all calls of the turn. */
  const changed = new Set<TaskState>();
  /** Tasks whose running calls have cost more since they were stored. */
  const growing = new Set<TaskState>();
  /** Resolves when the store has what was given to it last. */
  let stored: Promise<unknown> = Promise.resolve();

  function save(task: TaskState): void {
    if (changed.size === 0) setImmediate(flush);
    for (let each: TaskState | undefined = task; each !== undefined; each = each.parent) changed.add(each);
  }

  function saveGrowing(): void {
    for (const task of growing) save(task);
    growing.clear();
  }

  function flush(): void {
    const tasks = [...changed];
    changed.clear();
    for (const task of tasks) {
      const place = followed.get(task);
      if (place === undefined) continue;
      const { keys, keepMs, saved } = place;
      const now = spendOf(task, place);
      place.saved = now;
      const amounts = units.map((unit) => Math.ceil(now[unit]) - Math.ceil(saved[unit]));
      const adds = amounts
        .map((amount, at) => ({ key: keys[at]!, amount, keepMs }))
        .filter(({ amount }) => amount !== 0);
      if (adds.length > 0) stored = shared!.commit({ adds, queueIfUnavailable: true });
    }
  }

  return {
    async load(id) {
      flush();
      await stored;
      try {
        const [micros = 0, tokens = 0, modelCalls = 0] = await shared.readCounters!(keysOf(id));
        // A call that ran when its task was handed back may have cost less than it was stored with.
        return { micros: Math.max(0, micros), tokens: Math.max(0, tokens), modelCalls };
      } catch {
        return nothing; // The store is away: the task counts for itself.
      }
    },
    relieve(id, spent) {
      const keys = keysOf(id);
      return units.map((unit, at) => ({ key: keys[at]!, amount: -spent[unit], keepMs: namedTaskIdleMs }));
    },
    follow(task, place, saved) {
      followed.set(task, { ...place, keys: keysOf(place.id), saved, micros: 0, tokens: 0 });
    },
    expect(task, { micros, tokens }) {
      for (let each: TaskState | undefined = task; each !== undefined; each = each.parent) {
        const place = followed.get(each);
        if (place === undefined) continue;
        place.micros += micros;
        place.tokens += tokens;
      }
      if (growing.size === 0) clock.after(ledgerSaveMs, saveGrowing);
      growing.add(task);
    },
    save,
    flush,
  };
}

function spendOf({ cells }: TaskState, running: Pick<Cost, 'micros' | 'tokens'>): TaskSpend {
  const { micros, tokens, modelCalls = 0 } = cells.budget.state;
  return { micros: micros + running.micros, tokens: tokens + running.tokens, modelCalls };
}
