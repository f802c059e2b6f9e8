/** The local views of the cells of a shared store: the stored text, and the state that is parsed from it on demand. */

import type { Cell, CellOptions, PendingEntry, Transaction } from '../../ports/store.ts';

/** The local view of one cell. */
export interface View {
  readonly cell: { readonly key: string; state: unknown; version: number };
  readonly initial: () => unknown;
  readonly options: CellOptions<unknown>;
  /** The stored text; undefined if the cell is not stored. */
  text: string | undefined;
  /** Transactions that this process has applied and the store has not confirmed, in order. */
  pending: Set<Transaction>;
  /** The stored text with the pending transactions applied. */
  localText: string | undefined;
  /** Marks the parsed state as stale; the next read parses it again. */
  markStale(): void;
  /** The last stored text that could be parsed. */
  lastReadable: string | undefined;
  /** Returns the state to use instead of a text that cannot be parsed; reports it once per version. */
  recoverState(): unknown;
}

/** All cell views of one store. */
export interface Views {
  readonly all: ReadonlyMap<string, View>;
  /** Returns the view of a cell; creates it from the known stored text if there is none. */
  open<S>(
    key: string,
    initial: () => S,
    options: CellOptions<S> | undefined,
    readKnown: () => KnownCell | undefined,
  ): { readonly cell: Cell<S> };
  /** Sets the stored text; returns false if the view already has this version. */
  setStored(view: View, version: number, text: string | undefined): boolean;
  /** Sets the stored text of another file, whose versions cannot be compared with the known one. */
  resetStored(view: View, version: number, text: string | undefined): void;
  remove(key: string): void;
  /** Removes a view without pending transactions: the store plans them with it. */
  evict(key: string): void;
  clear(): void;
  /** The last written state, which no other code refers to; the next change of the cell need not parse its text. */
  reusable: ReusableState | undefined;
}

/** A state that a change may take over together with its text. */
export interface ReusableState {
  readonly view: View;
  readonly text: string;
  readonly state: unknown;
}

/** The last known version and text of a stored cell. */
export interface KnownCell {
  readonly version: number;
  /** Undefined if the cell was dropped. */
  readonly text: string | undefined;
}

/** The shared empty set of views without pending transactions; never written to. */
export const nothingPending: Set<Transaction> = new Set();

const noOptions: CellOptions<unknown> = Object.freeze({});

/** A view and its cell in one object. The text is parsed on the first read, because most changes are never read. */
interface CellView extends View {
  readonly key: string;
  state: unknown;
  version: number;
  /** The last parsed state. */
  cached: unknown;
  /** Whether `cached` matches the text; undefined = never parsed. */
  isFresh: boolean | undefined;
}

/** The prototype of all views, because closures for each of very many views would use much memory. */
const viewPrototype: object & ThisType<CellView> = {
  get cell() {
    return this;
  },
  get state(): unknown {
    if (this.isFresh !== true) refreshState(this);
    return this.cached;
  },
  set state(state: unknown) {
    this.cached = state;
    this.isFresh = true;
  },
  markStale() {
    if (this.isFresh === true) this.isFresh = false;
  },
};

/** Called with the key of a cell whose text cannot be parsed, and whether this process has an earlier state of it. */
export type OnUnreadable = (key: string, isKnown: boolean) => void;

/** Returns the prototype of the views of one store. */
function createPrototype(onUnreadable: OnUnreadable): object & ThisType<CellView> {
  const reportedVersions = new WeakMap<CellView, number>();
  return {
    __proto__: viewPrototype,
    recoverState(): unknown {
      if (reportedVersions.get(this) !== this.version) onUnreadable(this.key, this.lastReadable !== undefined);
      reportedVersions.set(this, this.version);
      return this.lastReadable === undefined ? this.initial() : JSON.parse(this.lastReadable);
    },
  };
}

function createView(
  prototype: object,
  key: string,
  initial: () => unknown,
  options: CellOptions<unknown> = noOptions,
): CellView {
  return {
    __proto__: prototype,
    key,
    initial,
    options,
    version: 0,
    text: undefined,
    lastReadable: undefined,
    localText: undefined,
    pending: nothingPending,
    cached: undefined,
    isFresh: undefined,
  } as never;
}

function refreshState(view: CellView): void {
  const { adopt } = view.options;
  const isFirst = view.isFresh === undefined;
  const state = parseState(view, view.localText);
  const isInitial = isFirst && view.localText === undefined;
  view.state = adopt === undefined || isInitial ? state : adopt(isFirst ? view.initial() : view.cached, state);
}

/** Creates the views of one store. */
export function createViews(onUnreadable: OnUnreadable): Views {
  const all = new Map<string, CellView>();
  const prototype = createPrototype(onUnreadable);

  function setStored(view: View, version: number, text: string | undefined): boolean {
    if (version <= view.cell.version) return false;
    resetStored(view, version, text);
    return true;
  }

  function resetStored(view: View, version: number, text: string | undefined): void {
    view.cell.version = version;
    view.text = text;
    recompute(view);
  }

  return {
    all,
    open<S>(
      key: string,
      initial: () => S,
      options: CellOptions<S> | undefined,
      readKnown: () => KnownCell | undefined,
    ) {
      let view = all.get(key);
      if (view === undefined) {
        view = createView(prototype, key, initial, options as CellOptions<unknown> | undefined);
        all.set(key, view);
        const stored = readKnown();
        if (stored !== undefined) setStored(view, stored.version, stored.text);
      }
      return view as { readonly cell: Cell<S> };
    },
    setStored,
    resetStored,
    remove: (key) => void all.delete(key),
    evict: (key) => void (all.get(key)?.pending.size || all.delete(key)),
    clear: () => all.clear(),
    reusable: undefined,
  };
}

/** Keeps a written state so that the next change of the cell can take it over. */
export function keepReusable(views: Views, { view, text, state }: ReusableState): void {
  view.lastReadable = text;
  views.reusable = state === undefined ? undefined : { view, text, state };
}

/** Returns a state that an update may write into: the reusable one, or a newly parsed one. */
export function takeState(views: Views, view: View, text: string | undefined): unknown {
  const { reusable } = views;
  if (reusable?.view !== view || reusable.text !== text) return parseState(view, text);
  views.reusable = undefined;
  return reusable.state;
}

/** Parses a state that the caller may write into. */
export function parseState(view: View, text: string | undefined): unknown {
  if (text === undefined) return view.initial();
  const state = parseCellText(text);
  // A cell whose initial state is an object never stores a plain value or null.
  const isState = kindOf(state) === 'object' || kindOf(state) === kindOf(view.initial());
  if (!isState) return view.recoverState();
  if (text === view.text) view.lastReadable = text;
  return state;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

/** Parses the text of a cell; returns undefined if it is not JSON. */
export function parseCellText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Recomputes the local text of a view: the stored text with all pending transactions applied. */
export function recompute(view: View): void {
  view.localText = view.text;
  for (const transaction of view.pending) applyToView(view, transaction);
  view.markStale();
}

/** Applies one more pending transaction to a view without running the others again; returns its entries. */
export function applyOneMore(view: View, transaction: Transaction): readonly PendingEntry[] {
  const entries = applyToView(view, transaction);
  view.markStale();
  return entries;
}

/** Applies the updates of a transaction to the local text of a view; returns their entries. */
function applyToView(view: View, { changes = [] }: Transaction): readonly PendingEntry[] {
  let entries: readonly PendingEntry[] = [];
  for (const { cell, update } of changes) {
    if (cell.key !== view.cell.key) continue;
    const next = update(parseState(view, view.localText));
    if (typeof next !== 'object') continue;
    view.localText = JSON.stringify(next.state);
    if (next.entries !== undefined) entries = [...entries, ...next.entries];
  }
  return entries;
}
