/** What one process knows of the cells of a shared store: the text that is stored, and the state that is looked at. */

import type { Cell, CellOptions, Deal } from '../ports/store.ts';

export interface View {
  readonly cell: { readonly key: string; state: unknown; version: number };
  readonly initial: () => unknown;
  readonly options: CellOptions<unknown>;
  /** As it is stored; undefined where it is not. */
  text: string | undefined;
  /** Deals that count here and that the store has not confirmed, in their order; and what they make of the text. */
  readonly pending: Set<Deal>;
  own: string | undefined;
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

export function createViews(): Views {
  const all = new Map<string, View>();

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
        const cell = { key, state: initial() as unknown, version: 0 };
        view = {
          cell,
          initial,
          options: (options ?? {}) as CellOptions<unknown>,
          text: undefined,
          pending: new Set(),
          own: undefined,
        };
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
  for (const deal of view.pending) view.own = after(view, deal);
  look(view);
}

/** The same, where one deal more counts: the others are not run again. */
export function showOneMore(view: View, deal: Deal): void {
  view.own = after(view, deal);
  look(view);
}

function look(view: View): void {
  const { cell, options, own } = view;
  const state = stateOf(view, own);
  cell.state = options.adopt === undefined ? state : options.adopt(cell.state, state);
}

/** What a deal makes of the text of a view. */
function after(view: View, { changes = [] }: Deal): string | undefined {
  let text = view.own;
  for (const { cell, step } of changes) {
    if (cell.key !== view.cell.key) continue;
    const next = step(stateOf(view, text));
    if (typeof next === 'object') text = JSON.stringify(next.state);
  }
  return text;
}
