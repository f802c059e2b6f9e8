/** What one process knows of the cells of a shared store: the text that is stored, and the state that is looked at. */

import type { Cell, CellOptions, Deal, Note } from '../ports/store.ts';

export interface View {
  readonly cell: { readonly key: string; state: unknown; version: number };
  readonly initial: () => unknown;
  readonly options: CellOptions<unknown>;
  /** As it is stored; undefined where it is not. */
  text: string | undefined;
  /** Deals that count here and that the store has not confirmed, in their order; and what they make of the text. */
  pending: Set<Deal>;
  own: string | undefined;
  /** What is known has changed: the state is made anew when somebody looks. */
  outdate(): void;
}

export interface Views {
  readonly all: ReadonlyMap<string, View>;
  /** The view of a cell, made where there is none from what is known of it. */
  open<S>(
    key: string,
    initial: () => S,
    options: CellOptions<S> | undefined,
    known: () => Known | undefined,
  ): { readonly cell: Cell<S> };
  /** Learns what is stored now; false where that was known. */
  learn(view: View, version: number, text: string | undefined): boolean;
  forget(key: string): void;
  clear(): void;
}

export interface Known {
  readonly version: number;
  /** Undefined where it was dropped. */
  readonly text: string | undefined;
}

/** What most views have: nothing is out. Never written into; whoever has a deal gets a set of its own. */
export const nothingPending: Set<Deal> = new Set();

const noOptions: CellOptions<unknown> = Object.freeze({});

/** A view and its cell in one. The text becomes a state when somebody looks: most of what others write nobody reads. */
interface CellView extends View {
  readonly key: string;
  state: unknown;
  version: number;
  /** What was looked at last, and whether it still is what is known; undefined = never looked at. */
  seen: unknown;
  isFresh: boolean | undefined;
}

/** What all views have in common: there are very many of them, and closures for each would be heavy. */
const face = {
  get cell() {
    return this;
  },
  get state(): unknown {
    const view = this as unknown as CellView;
    if (view.isFresh !== true) look(view);
    return view.seen;
  },
  set state(state: unknown) {
    const view = this as unknown as CellView;
    view.seen = state;
    view.isFresh = true;
  },
  outdate() {
    const view = this as unknown as CellView;
    if (view.isFresh === true) view.isFresh = false;
  },
};

function createView(key: string, initial: () => unknown, options: CellOptions<unknown> = noOptions): CellView {
  return {
    __proto__: face,
    key,
    initial,
    options,
    version: 0,
    text: undefined,
    own: undefined,
    pending: nothingPending,
    seen: undefined,
    isFresh: undefined,
  } as never;
}

function look(view: CellView): void {
  const { adopt } = view.options;
  const isFirst = view.isFresh === undefined;
  const state = readable(view);
  const isInitial = isFirst && view.own === undefined;
  view.state = adopt === undefined || isInitial ? state : adopt(isFirst ? view.initial() : view.seen, state);
}

/** A text that is none of ours says nothing about the cell: what was seen last still holds. */
function readable(view: CellView): unknown {
  try {
    return stateOf(view, view.own);
  } catch {
    return view.isFresh === undefined ? view.initial() : view.seen;
  }
}

export function createViews(): Views {
  const all = new Map<string, CellView>();

  function learn(view: View, version: number, text: string | undefined): boolean {
    if (version <= view.cell.version) return false;
    view.cell.version = version;
    view.text = text;
    show(view);
    return true;
  }

  return {
    all,
    open<S>(key: string, initial: () => S, options: CellOptions<S> | undefined, known: () => Known | undefined) {
      let view = all.get(key);
      if (view === undefined) {
        view = createView(key, initial, options as CellOptions<unknown> | undefined);
        all.set(key, view);
        const stored = known();
        if (stored !== undefined) learn(view, stored.version, stored.text);
      }
      return view as unknown as { readonly cell: Cell<S> };
    },
    learn,
    forget: (key) => void all.delete(key),
    clear: () => all.clear(),
  };
}

/** A state of its own for whoever may write into it. */
export function stateOf(view: View, text: string | undefined): unknown {
  return text === undefined ? view.initial() : JSON.parse(text);
}

/** Makes a view show what is stored, and on top of it what counts here already. */
export function show(view: View): void {
  view.own = view.text;
  for (const deal of view.pending) count(view, deal);
  view.outdate();
}

/** The same, where one deal more counts: the others are not run again. What it says of it comes back. */
export function showOneMore(view: View, deal: Deal): readonly Note[] {
  const notes = count(view, deal);
  view.outdate();
  return notes;
}

/** Makes of a view what a deal makes of it. */
function count(view: View, { changes = [] }: Deal): readonly Note[] {
  let said: readonly Note[] = [];
  for (const { cell, step } of changes) {
    if (cell.key !== view.cell.key) continue;
    const next = step(stateOf(view, view.own));
    if (typeof next !== 'object') continue;
    view.own = JSON.stringify(next.state);
    if (next.notes !== undefined) said = [...said, ...next.notes];
  }
  return said;
}
