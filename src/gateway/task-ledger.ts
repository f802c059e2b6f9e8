/**
 * Keeps in a shared store what the tasks of a gateway have spent, so that a gateway that is started again goes on from
 * there. Running calls are stored with what they have cost so far: after a crash that counts as spent.
 */

import type { Cost } from '../core/action.ts';
import { cellKey } from '../core/cell-key.ts';
import type { Runtime, TaskState } from '../guard/internal.ts';
import type { Store } from '../ports/store.ts';
import { ledgerSaveMs } from './limits.ts';

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
  /** Begins to store the spending of a task. */
  follow(task: TaskState, place: LedgerPlace, spent: TaskSpend): void;
  /** Adds to what the running calls of a task have cost so far, and saves it soon. */
  expect(task: TaskState, change: Pick<Cost, 'micros' | 'tokens'>): void;
  /** Stores what a task and the tasks above it have spent since the last time. */
  save(task: TaskState): void;
}

interface Followed extends LedgerPlace {
  saved: TaskSpend;
  /** What running calls have cost so far. */
  micros: number;
  tokens: number;
  isDue: boolean;
}

const nothing: TaskSpend = { micros: 0, tokens: 0, modelCalls: 0 };

/** Creates the ledger; undefined for a store that ends with its process. */
export function createTaskLedger({ store, clock }: Pick<Runtime, 'store' | 'clock'>): TaskLedger | undefined {
  const shared = (store as Store).shared;
  if (shared?.readCounters === undefined) return undefined;
  const followed = new WeakMap<TaskState, Followed>();
  const keyOf = (id: string, unit: string) => cellKey('gateway-task', id, unit);

  function save(task: TaskState): void {
    for (let each: TaskState | undefined = task; each !== undefined; each = each.parent) {
      const place = followed.get(each);
      if (place === undefined) continue;
      const { id, keepMs, saved } = place;
      const now = spendOf(each, place);
      place.saved = now;
      place.isDue = false;
      const adds = units.map((unit) => ({
        ...{ key: keyOf(id, unit), amount: Math.ceil(now[unit]) - Math.ceil(saved[unit]), keepMs },
      }));
      void shared!.commit({ adds: adds.filter(({ amount }) => amount !== 0), queueIfUnavailable: true });
    }
  }

  return {
    async load(id) {
      try {
        const [micros = 0, tokens = 0, modelCalls = 0] = await shared.readCounters!(
          units.map((each) => keyOf(id, each)),
        );
        return { micros, tokens, modelCalls };
      } catch {
        return nothing; // The store is away: the task counts for itself.
      }
    },
    follow: (task, place, saved) => void followed.set(task, { ...place, saved, micros: 0, tokens: 0, isDue: false }),
    expect(task, { micros, tokens }) {
      for (let each: TaskState | undefined = task; each !== undefined; each = each.parent) {
        const place = followed.get(each);
        if (place === undefined) continue;
        place.micros += micros;
        place.tokens += tokens;
      }
      const own = followed.get(task);
      if (own === undefined || own.isDue) return;
      own.isDue = true;
      clock.after(ledgerSaveMs, () => own.isDue && save(task));
    },
    save,
  };
}

function spendOf({ cells }: TaskState, running: Pick<Cost, 'micros' | 'tokens'>): TaskSpend {
  const { micros, tokens, modelCalls = 0 } = cells.budget.state;
  return { micros: micros + running.micros, tokens: tokens + running.tokens, modelCalls };
}
