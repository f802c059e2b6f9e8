/**
 * The halts of a gateway's tasks: which card a halt has, for all gateways on a store; how a person hands a task back;
 * and when a card is closed because its task goes on.
 */

import { type Card, gatewayName } from '../../core/card.ts';
import { cellKey } from '../../core/cell-key.ts';
import { onHalt, type Runtime, type TaskState, updateCard } from '../../guard/internal.ts';
import { ownerPrefix, type ProcessLiveness } from '../../ports/published-tasks.ts';
import type { CellUpdate, CounterAdd, SharedStore, Store } from '../../ports/store.ts';
import type { TaskLedger, TaskSpend } from '../task-ledger.ts';

/** The halt of a task: its card, and the process that refuses the task's calls. */
interface TaskHalt {
  readonly card: string;
  /** Absent after this process has ended the task. */
  readonly process?: string | undefined;
}

/** A halt in an earlier task of the same id. */
interface EarlierHalt extends TaskHalt {
  readonly id: string;
}

/** What the store keeps about the halts of a task. */
interface StoredHalts {
  readonly halt?: TaskHalt | undefined;
  /** The card of the halt that a person has handed back. */
  readonly handedBack?: string | undefined;
}

export interface TaskHalts {
  /** The card of the halt, of the task or of one above it, that a person has answered with `replan`. */
  findHandedBack(task: TaskState): { readonly task: TaskState; readonly card: string } | undefined;
  /** Notes that the task of an id begins anew, since a person has answered the card of its halt. */
  handBack(id: string, card: string): void;
  /** Reads what a task has spent, and relieves it of that if a person has handed it back since. */
  load(id: string, ledger: TaskLedger): Promise<TaskSpend>;
  /** Begins to note the halt of a task, which was loaded before. */
  follow(task: TaskState, id: string, keepMs: number): void;
  /** Closes the card of an earlier halt: a call of the task begins. */
  goOn(task: TaskState): void;
  /** Notes that this process refuses no calls any more. */
  close(): void;
}

const zero: TaskSpend = { micros: 0, tokens: 0, modelCalls: 0 };
const none: StoredHalts = {};

export function createTaskHalts(runtime: Runtime): TaskHalts {
  const { store, clock } = runtime;
  const shared = (store as Store).shared;
  /** Cards of tasks that a person handed back and whose next request has not come. */
  const handedBack = new Map<string, string>();
  /** Halts of tasks that are being opened, by id, and of open ones whose next call supersedes the card. */
  const loaded = new Map<string, TaskHalt>();
  const earlier = new WeakMap<TaskState, EarlierHalt>();
  /** Halts that this process enforces. */
  const enforced = new Map<string, { readonly task: TaskState; readonly keepMs: number }>();

  /** Stores what a change makes of the halts of a task; undefined: neither that nor the counters change. */
  function write(
    id: string,
    keepMs: number,
    change: (stored: StoredHalts) => StoredHalts | undefined,
    adds: readonly CounterAdd[] = [],
  ): Promise<unknown> | undefined {
    const key = keyOf(id);
    const cell = store.cell<StoredHalts>(key, () => none, { keepMs });
    const update = (stored: StoredHalts | null): CellUpdate<StoredHalts> => {
      const state = change(stored ?? none);
      return state === undefined ? 'refuse' : { state };
    };
    const changes = [{ cell, update } as never];
    return shared?.commit({ changes, adds, queueIfUnavailable: true }).then(() => shared.evict?.(key));
  }

  function isAnswered(card: string): boolean {
    return store.card(card)?.answer === 'replan';
  }

  function note(task: TaskState, id: string, keepMs: number): void {
    const { card } = task;
    if (card === undefined) return; // It was halted with a task above it.
    supersede(task);
    for (const [other, { task: ended }] of enforced) if (ended.ended) enforced.delete(other);
    enforced.set(id, { task, keepMs });
    void write(id, keepMs, (stored) => ({ ...stored, halt: { card, process: shared!.process } }));
  }

  function supersede(task: TaskState): void {
    const halt = earlier.get(task);
    if (halt === undefined) return;
    earlier.delete(task);
    void closeCard(task, halt);
  }

  /** Closes a card as soon as no running gateway refuses the calls of its task. */
  async function closeCard(task: TaskState, halt: EarlierHalt, tries = 5): Promise<void> {
    const isWaiting = await isEnforced(shared!, halt, clock.nowMs());
    if (runtime.isDisposed) return;
    // The view of a remote store may not have the card yet.
    const state = store.card(halt.card)?.state;
    if (isWaiting || (state === undefined && tries > 0)) {
      clock.after(lookAgainMs, () => !task.ended && void closeCard(task, halt, isWaiting ? tries : tries - 1));
      return;
    }
    if (state !== 'open') return;
    const note = 'superseded: its task goes on, or was halted anew';
    const answer = { type: 'card-answered', answer: 'dismiss', by: gatewayName, note } as const;
    updateCard(runtime, halt.card, { ...answer, atMs: clock.nowMs() });
  }

  return {
    findHandedBack(task) {
      if (task.haltStop === undefined) return undefined;
      shared?.refresh();
      for (let each: TaskState | undefined = task; each !== undefined; each = each.parent)
        if (each.card !== undefined && isAnswered(each.card)) return { task: each, card: each.card };
      return undefined;
    },
    handBack: (id, card) => void (shared && handedBack.set(id, card)),
    async load(id, ledger) {
      const [stored, total] = await Promise.all([read(shared!, id), ledger.load(id)]);
      const { halt } = stored;
      const answered =
        halt !== undefined && (await readAnswer(shared!, halt.card)) === 'replan' ? halt.card : undefined;
      const card = handedBack.get(id) ?? answered;
      handedBack.delete(id);
      if (halt !== undefined && halt.card !== card) loaded.set(id, halt);
      if (card !== undefined && card !== stored.handedBack) {
        // A halt with another card is that of a gateway that goes on refusing the task.
        const change = ({ halt: other, handedBack: last }: StoredHalts) =>
          last === card ? undefined : { handedBack: card, ...(other?.card !== card && { halt: other }) };
        await write(id, keepHandedBackMs, change, ledger.relieve(id, total));
        return zero;
      }
      return total;
    },
    follow(task, id, keepMs) {
      const halt = loaded.get(id);
      loaded.delete(id);
      if (halt !== undefined) earlier.set(task, { ...halt, id });
      // The halt has its card a little later.
      onHalt(task, () => queueMicrotask(() => note(task, id, keepMs)));
    },
    goOn: supersede,
    close() {
      for (const [id, { keepMs }] of enforced)
        void write(id, keepMs, (stored) =>
          stored.halt?.process === shared!.process ? { ...stored, halt: { card: stored.halt.card } } : stored,
        );
      enforced.clear();
    },
  };
}

/** How often a gateway looks whether the one that has halted a task still runs. */
const lookAgainMs = 2_000;
/** How long the card of a task that was handed back is kept. */
const keepHandedBackMs = 24 * 3_600_000;

function keyOf(id: string): string {
  return cellKey('gateway-halt', id);
}

async function read(shared: SharedStore, id: string): Promise<StoredHalts> {
  const key = keyOf(id);
  try {
    const found = (await shared.read(key, 1)).find((each) => each.key === key);
    return (found?.state as StoredHalts | undefined) ?? none;
  } catch {
    return none; // The store is away.
  }
}

/** The answer to a card as the store has it, which the view of a remote store may not have yet. */
async function readAnswer(shared: SharedStore, card: string): Promise<unknown> {
  const key = `card/${card}`;
  const found = await shared.read(key, 1).catch((): [] => []);
  return (found.find((each) => each.key === key)?.state as Card | undefined)?.answer;
}

/** Whether a running gateway still refuses the calls of a halted task, as far as its lease tells. */
async function isEnforced(
  shared: SharedStore,
  { id, card, process: first }: EarlierHalt,
  atMs: number,
): Promise<boolean> {
  const { halt } = await read(shared, id);
  const process = halt?.card === card ? halt.process : first;
  if (process === undefined || process === shared.process) return false;
  const key = ownerPrefix + cellKey(process);
  try {
    const found = (await shared.read(key, 1)).find((each) => each.key === key);
    return ((found?.state as ProcessLiveness | undefined)?.untilMs ?? 0) > atMs;
  } catch {
    return true; // Look again later.
  }
}
