/** What one process knows of the cells of a shared store: the text that is stored, and the state that is looked at. */

import type { Cell, CellOptions, PendingEntry, Transaction } from '../../ports/store.ts';

export interface View {
  readonly cell: { readonly key: string; state: unknown; version: number };
  readonly initial: () => unknown;
  readonly options: CellOptions<unknown>;
  /** As it is stored; undefined where it is not. */
  text: string | undefined;
  /** Deals that count here and that the store has not confirmed, in their order; and what they make of the text. */
  pending: Set<Transaction>;
  localText: string | undefined;
  /** What is known has changed: the state is made anew when somebody looks. */
  markStale(): void;
  /** The last text that could be read. */
  lastReadable: string | undefined;
  /** With what to go on where a text cannot be read; it is told, once for each version. */
  recoverState(): unknown;
}

export interface Views {
  readonly all: ReadonlyMap<string, View>;
  /** The view of a cell, made where there is none from what is known of it. */
  open<S>(
    key: string,
    initial: () => S,
    options: CellOptions<S> | undefined,
    readKnown: () => KnownCell | undefined,
  ): { readonly cell: Cell<S> };
  /** Learns what is stored now; false where that was known. */
  setStored(view: View, version: number, text: string | undefined): boolean;
  remove(key: string): void;
  clear(): void;
  /** The state that was written last, as nobody else has it: whoever changes the same cell next need not read it. */
  reusable: ReusableState | undefined;
}

export interface ReusableState {
  readonly view: View;
  readonly text: string;
  readonly state: unknown;
}

export interface KnownCell {
  readonly version: number;
  /** Undefined where it was dropped. */
  readonly text: string | undefined;
}

/** What most views have: nothing is out. Never written into; whoever has a deal gets a set of its own. */
export const nothingPending: Set<Transaction> = new Set();

const noOptions: CellOptions<unknown> = Object.freeze({});

/** A view and its cell in one. The text becomes a state when somebody looks: most of what others write nobody reads. */
interface CellView extends View {
  readonly key: string;
  state: unknown;
  version: number;
  /** What was looked at last, and whether it still is what is known; undefined = never looked at. */
  cached: unknown;
  isFresh: boolean | undefined;
}

/** What all views have in common: there are very many of them, and closures for each would be heavy. */
const viewPrototype = {
  get cell() {
    return this;
  },
  get state(): unknown {
    const view = this as unknown as CellView;
    if (view.isFresh !== true) refreshState(view);
    return view.cached;
  },
  set state(state: unknown) {
    const view = this as unknown as CellView;
    view.cached = state;
    view.isFresh = true;
  },
  markStale() {
    const view = this as unknown as CellView;
    if (view.isFresh === true) view.isFresh = false;
  },
};

/** Hears of a text that cannot be read, and whether this process saw the cell before. */
export type OnUnreadable = (key: string, isKnown: boolean) => void;

/** The face of the views of one store. */
function taskHandle(onUnreadable: OnUnreadable): object {
  const reportedVersions = new WeakMap<CellView, number>();
  return {
    __proto__: viewPrototype,
    recoverState(): unknown {
      const view = this as unknown as CellView;
      if (reportedVersions.get(view) !== view.version) onUnreadable(view.key, view.lastReadable !== undefined);
      reportedVersions.set(view, view.version);
      return view.lastReadable === undefined ? view.initial() : JSON.parse(view.lastReadable);
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

export function createViews(onUnreadable: OnUnreadable): Views {
  const all = new Map<string, CellView>();
  const prototype = taskHandle(onUnreadable);

  function setStored(view: View, version: number, text: string | undefined): boolean {
    if (version <= view.cell.version) return false;
    view.cell.version = version;
    view.text = text;
    recompute(view);
    return true;
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
      return view as unknown as { readonly cell: Cell<S> };
    },
    setStored,
    remove: (key) => void all.delete(key),
    clear: () => all.clear(),
    reusable: undefined,
  };
}

/** What was written can be read, and may be changed again without that. */
export function keepReusable(views: Views, { view, text, state }: ReusableState): void {
  view.lastReadable = text;
  views.reusable = state === undefined ? undefined : { view, text, state };
}

/** A state of its own for a step, which may write into it. */
export function takeState(views: Views, view: View, text: string | undefined): unknown {
  const { reusable } = views;
  if (reusable?.view !== view || reusable.text !== text) return parseState(view, text);
  views.reusable = undefined;
  return reusable.state;
}

/** A state of its own for whoever may write into it. */
export function parseState(view: View, text: string | undefined): unknown {
  if (text === undefined) return view.initial();
  const state = parseCellText(text);
  // Where a state has parts, nobody of ours writes a word or nothing at all.
  const isState = kindOf(state) === 'object' || kindOf(state) === kindOf(view.initial());
  if (!isState) return view.recoverState();
  if (text === view.text) view.lastReadable = text;
  return state;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

/** What a text says; undefined where it is none of ours. */
export function parseCellText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Makes a view show what is stored, and on top of it what counts here already. */
export function recompute(view: View): void {
  view.localText = view.text;
  for (const transaction of view.pending) applyToView(view, transaction);
  view.markStale();
}

/** The same, where one deal more counts: the others are not run again. What it says of it comes back. */
export function applyOneMore(view: View, transaction: Transaction): readonly PendingEntry[] {
  const entries = applyToView(view, transaction);
  view.markStale();
  return entries;
}

/** Makes of a view what a deal makes of it. */
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
