/**
 * Observes what is new in the history of a conversation: every call of a tool with its result once, however often the
 * history comes again.
 */

import { evictOldest } from '../../core/bounded.ts';
import { nameLengthMax } from '../../core/limits.ts';
import type { CallObserver, ObservedCall } from '../../guard/entries/observed-call.ts';
import { halt, observe, type Runtime, type TaskState } from '../../guard/internal.ts';
import { createHistoryKeys, type HistoryKeys, type KeyedItem } from './keyed-history.ts';

/** Calls and prompts of one conversation that are remembered. */
const seenMax = 50_000;

/** What a gateway knows of a conversation. */
export interface Watched {
  readonly task: TaskState;
  readonly keys: HistoryKeys;
  /** Whether another reader counts the calls, so that only loops are looked for. */
  readonly isCountedElsewhere: boolean;
  /** The keys of the parts that were observed. */
  readonly seen: Set<string>;
  /** Calls of the conversation that were counted, by this gateway and by others. */
  calls: number;
  /** Tools whose breaker is open, of which the model was told. */
  readonly reported: Set<string>;
}

export function createWatched(task: TaskState, isCountedElsewhere: boolean): Watched {
  return { task, isCountedElsewhere, keys: createHistoryKeys(), seen: new Set(), calls: 0, reported: new Set() };
}

/**
 * Observes the new parts of a history. Of a conversation that comes for the first time, only calls after the last
 * prompt of a person are observed: earlier ones belong to work that has ended. Calls that another gateway has counted,
 * `counted` of the conversation in all, change only the controls of the conversation's own task; `tookMs` is the time
 * since its last answer. Returns the names of tools whose breaker has opened, with their failures.
 */
export function observeHistory(
  runtime: Runtime,
  observeCall: CallObserver,
  watched: Watched,
  items: readonly KeyedItem[],
  { counted, tookMs }: { readonly counted: number; readonly tookMs: number },
): ReadonlyMap<string, number> {
  const { task, seen } = watched;
  const results = new Map(items.flatMap((item, at) => (item.type === 'result' ? [[item.key, at] as const] : [])));
  const fresh = items
    .flatMap((item) => (item.type === 'assistant' ? item.calls : []))
    .filter(({ key }) => results.has(key) && !seen.has(key));
  const elsewhere = Math.min(fresh.length, Math.max(0, counted - watched.calls));
  const replayedTo = Math.max(-1, ...fresh.slice(0, elsewhere).map(({ key }) => results.get(key)!));
  const start = seen.size > 0 ? 0 : items.findLastIndex(({ type }) => type === 'user') + 1;
  for (const item of items.slice(0, start)) for (const key of keysOf(item)) remember(watched, key);
  watched.calls = Math.max(counted, watched.calls + fresh.length);
  const pass = new HistoryPass(runtime, observeCall, watched, results);
  const lastTurn = items.findLastIndex(({ type }) => type === 'assistant');
  for (const [at, item] of items.entries()) {
    if (task.halt !== undefined) break;
    const isReplayed = at <= replayedTo;
    task.isCountedElsewhere = isReplayed || watched.isCountedElsewhere;
    pass.observe(item, at > lastTurn ? tookMs : 0);
    // The model got this hint from the gateway that counted the call.
    if (isReplayed) task.loopHint = undefined;
  }
  task.isCountedElsewhere = false;
  return pass.opened;
}

/** One pass through a history. */
class HistoryPass {
  /** Tools whose breaker has opened, with their failures. */
  readonly opened = new Map<string, number>();
  readonly #runtime: Runtime;
  readonly #observeCall: CallObserver;
  readonly #watched: Watched;
  readonly #results: ReadonlyMap<string, number>;
  /** New calls whose result has not been reached. */
  readonly #open = new Map<string, { readonly tool: string; readonly observed: ObservedCall | undefined }>();

  constructor(runtime: Runtime, observeCall: CallObserver, watched: Watched, results: ReadonlyMap<string, number>) {
    this.#runtime = runtime;
    this.#observeCall = observeCall;
    this.#watched = watched;
    this.#results = results;
  }

  observe(item: KeyedItem, tookMs: number): void {
    if (item.type === 'assistant') this.#observeTurn(item);
    else if (item.type === 'result') this.#observeResult(item, tookMs);
    else if (this.#isNew(item.key)) observe(this.#runtime, this.#watched.task, { type: 'user', text: item.text });
  }

  #isNew(key: string): boolean {
    if (this.#watched.seen.has(key)) return false;
    remember(this.#watched, key);
    return true;
  }

  #observeTurn({ text, calls, key }: Extract<KeyedItem, { type: 'assistant' }>): void {
    const { task } = this.#watched;
    const runtime = this.#runtime;
    if (calls.length === 0) {
      if (text !== '' && this.#isNew(key)) observe(runtime, task, { type: 'assistant', text, toolUse: false });
      return;
    }
    const added = calls.filter(({ key }) => this.#results.has(key) && this.#isNew(key));
    if (added.length > 0) observe(runtime, task, { type: 'assistant', text, toolUse: true });
    for (const { key: id, name, input } of added) {
      const tool = name.slice(0, nameLengthMax).toWellFormed() || 'unnamed';
      const observed = task.isCountedElsewhere === true ? undefined : this.#observeCall(id, tool, input, task);
      this.#open.set(id, { tool, observed });
      observe(runtime, task, { type: 'tool_use', id, name: tool, input: input ?? {} });
      if (observed?.stop !== undefined) halt(runtime, task, observed.stop, tool, runtime.clock.nowMs());
    }
  }

  #observeResult({ key: id, ok, output }: Extract<KeyedItem, { type: 'result' }>, tookMs: number): void {
    const { task, reported } = this.#watched;
    if (!this.#isNew(`result ${id}`)) return;
    observe(this.#runtime, task, { type: 'tool_result', id, ok, output, tookMs });
    const call = this.#open.get(id);
    if (call === undefined) return;
    const { tool, observed } = call;
    const failures = observed?.settle({ ok, output });
    if (ok) {
      reported.delete(tool);
      this.opened.delete(tool);
    } else if (failures !== undefined && !reported.has(tool)) {
      reported.add(tool);
      this.opened.set(tool, failures);
    }
  }
}

function remember({ seen }: Pick<Watched, 'seen'>, key: string): void {
  evictOldest(seen, seenMax);
  seen.add(key);
}

function keysOf(item: KeyedItem): readonly string[] {
  if (item.type === 'assistant') return item.calls.length === 0 ? [item.key] : item.calls.map(({ key }) => key);
  return item.type === 'user' ? [item.key] : [`result ${item.key}`];
}
