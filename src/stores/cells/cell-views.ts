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
  own: string | undefined;
  /** What is known has changed: the state is made anew when somebody looks. */
  outdate(): void;
  /** The last text that could be read. */
  sound: string | undefined;
  /** With what to go on where a text cannot be read; it is told, once for each version. */
  goOn(): unknown;
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
  /** The state that was written last, as nobody else has it: whoever changes the same cell next need not read it. */
  spare: Spare | undefined;
}

export interface Spare {
  readonly view: View;
  readonly text: string;
  readonly state: unknown;
}

export interface Known {
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

/** Hears of a text that cannot be read, and whether this process saw the cell before. */
export type Unreadable = (key: string, isKnown: boolean) => void;

/** The face of the views of one store. */
function taskHandle(unreadable: Unreadable): object {
  const told = new WeakMap<CellView, number>();
  return {
    __proto__: face,
    goOn(): unknown {
      const view = this as unknown as CellView;
      if (told.get(view) !== view.version) unreadable(view.key, view.sound !== undefined);
      told.set(view, view.version);
      return view.sound === undefined ? view.initial() : JSON.parse(view.sound);
    },
  };
}

function createView(
  own: object,
  key: string,
  initial: () => unknown,
  options: CellOptions<unknown> = noOptions,
): CellView {
  return {
    __proto__: own,
    key,
    initial,
    options,
    version: 0,
    text: undefined,
    sound: undefined,
    own: undefined,
    pending: nothingPending,
    seen: undefined,
    isFresh: undefined,
  } as never;
}

function look(view: CellView): void {
  const { adopt } = view.options;
  const isFirst = view.isFresh === undefined;
  const state = stateOf(view, view.own);
  const isInitial = isFirst && view.own === undefined;
  view.state = adopt === undefined || isInitial ? state : adopt(isFirst ? view.initial() : view.seen, state);
}

export function createViews(unreadable: Unreadable): Views {
  const all = new Map<string, CellView>();
  const own = taskHandle(unreadable);

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
        view = createView(own, key, initial, options as CellOptions<unknown> | undefined);
        all.set(key, view);
        const stored = known();
        if (stored !== undefined) learn(view, stored.version, stored.text);
      }
      return view as unknown as { readonly cell: Cell<S> };
    },
    learn,
    forget: (key) => void all.delete(key),
    clear: () => all.clear(),
    spare: undefined,
  };
}

/** What was written can be read, and may be changed again without that. */
export function keepSpare(views: Views, { view, text, state }: Spare): void {
  view.sound = text;
  views.spare = state === undefined ? undefined : { view, text, state };
}

/** A state of its own for a step, which may write into it. */
export function stateFor(views: Views, view: View, text: string | undefined): unknown {
  const { spare } = views;
  if (spare?.view !== view || spare.text !== text) return stateOf(view, text);
  views.spare = undefined;
  return spare.state;
}

/** A state of its own for whoever may write into it. */
export function stateOf(view: View, text: string | undefined): unknown {
  if (text === undefined) return view.initial();
  const state = readText(text);
  // Where a state has parts, nobody of ours writes a word or nothing at all.
  const isState = kindOf(state) === 'object' || kindOf(state) === kindOf(view.initial());
  if (!isState) return view.goOn();
  if (text === view.text) view.sound = text;
  return state;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

/** What a text says; undefined where it is none of ours. */
export function readText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Makes a view show what is stored, and on top of it what counts here already. */
export function show(view: View): void {
  view.own = view.text;
  for (const transaction of view.pending) count(view, transaction);
  view.outdate();
}

/** The same, where one deal more counts: the others are not run again. What it says of it comes back. */
export function showOneMore(view: View, transaction: Transaction): readonly PendingEntry[] {
  const entries = count(view, transaction);
  view.outdate();
  return entries;
}

/** Makes of a view what a deal makes of it. */
function count(view: View, { changes = [] }: Transaction): readonly PendingEntry[] {
  let said: readonly PendingEntry[] = [];
  for (const { cell, update } of changes) {
    if (cell.key !== view.cell.key) continue;
    const next = update(stateOf(view, view.own));
    if (typeof next !== 'object') continue;
    view.own = JSON.stringify(next.state);
    if (next.entries !== undefined) said = [...said, ...next.entries];
  }
  return said;
}
