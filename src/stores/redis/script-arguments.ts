/** Encodes transactions as the keys and arguments of the transaction script. */

import { cardsMax } from '../../core/limits.ts';
import type { Transaction, WindowMark } from '../../ports/store.ts';
import type { View } from '../cells/cell-views.ts';
import { createFingerprintReplacer } from '../cells/keyed-fingerprints.ts';
import { isForOperators, needsGracePeriod, type Plan } from '../cells/transaction-plan.ts';
import type { RedisKeys } from './keys.ts';
import type { KnownState } from './known-state.ts';

/** A cell that a request writes. */
export interface CellWrite {
  readonly key: string;
  /** The version that the cell must have; 0 = the cell must not exist. */
  readonly expected: number;
  /** The version that the cell gets; undefined = the next one of the store. */
  readonly version: number | undefined;
  /** Undefined = the cell is dropped. */
  readonly text: string | undefined;
  readonly keepMs: number | undefined;
}

/** The state and limits that every request needs. */
export interface RequestContext {
  readonly names: RedisKeys;
  readonly memory: KnownState;
  readonly graceMs: number;
  readonly journalMax: number;
  readonly keysMax: number;
  wallMs(): number;
}

/** A transaction as the script executes it. */
export interface Request {
  readonly cells: readonly CellWrite[];
  readonly adds: readonly (readonly string[])[];
  readonly marks: NonNullable<Transaction['marks']>;
  readonly entries: readonly string[];
  readonly guarded: boolean;
  /** Whether the transaction lost more than four races and asks for a turn. */
  readonly turn: boolean;
}

/** The most transactions in flight, and the most transaction numbers in the list of a connection. */
export const outMax = 256;
/** The list of numbers is trimmed with every 256th transaction. */
export const trimEvery = 256;

/** Returns the version that the store must have for a view; 0 for a dropped cell. */
export function expectedVersion(view: View): number {
  return view.text === undefined ? 0 : view.cell.version;
}

/** Makes the request of a planned transaction. */
export function makeRequest(
  transaction: Transaction,
  plan: Plan,
  secret: string,
  wallMs: number,
  turn: boolean,
): Request {
  return {
    cells: plan.cells.map(({ view, text }) => ({
      key: view.cell.key,
      expected: expectedVersion(view),
      version: undefined,
      text,
      keepMs: view.options.keepMs,
    })),
    adds: (transaction.adds ?? []).map(({ key, amount, ceiling, keepMs }) => [
      `s:${key}`,
      'add',
      String(Math.round(amount)),
      ceiling === undefined || !Number.isFinite(ceiling) ? '' : String(Math.floor(ceiling)),
      wholeNumber(keepMs),
    ]),
    marks: transaction.marks ?? [],
    entries: plan.entries.map(({ body, place, atMs }) =>
      JSON.stringify({ atMs, wallMs, ...place, ...body }, createFingerprintReplacer(secret)),
    ),
    guarded: needsGracePeriod(transaction),
    turn,
  };
}

/** Makes a request that restores cells and marks, and raises counters to at least these totals. */
export function makeRestoreRequest(
  cells: readonly CellWrite[],
  totals: readonly (readonly [string, number])[],
  marks: readonly WindowMark[] = [],
): Request {
  const adds = totals.map(([key, total]) => [`s:${key}`, 'raise', String(total), '', '']);
  return { cells, adds, marks, entries: [], guarded: false, turn: false };
}

/** Returns the keys and arguments of the transaction script. */
export function encodeRequest(request: Request, number: number, context: RequestContext): [string[], string[]] {
  const { names, memory } = context;
  const { cells, adds, marks, entries, guarded, turn } = request;
  const keys = [names.store, names.index, names.ends, names.journal, memory.line];
  const parts: string[] = [];
  for (const { key, expected, version, keepMs, text } of cells) {
    const name = `c:${key}`;
    keys.push(names.part(name));
    parts.push(name, String(expected), version === undefined ? '' : String(version), wholeNumber(keepMs), text ?? '');
  }
  for (const add of adds) {
    keys.push(names.part(add[0]!));
    parts.push(...add);
  }
  for (const { key, id, atMs, keepMs, cap, most } of marks) {
    const name = `m:${key}`;
    keys.push(names.part(name));
    parts.push(name, id, String(atMs), wholeNumber(keepMs), String(cap), most === undefined ? '' : String(most));
  }
  const counts = [cells, adds, marks, entries].map(({ length }) => length);
  const isSpared = cells.some(({ key }) => isForOperators(key));
  const limits = [names.channel, context.keysMax + (isSpared ? cardsMax : 0), context.journalMax, turn ? 1 : 0];
  // The new versions show whether the store lost data, unless the script assigns none or the store's age matters.
  const showsItself = !guarded && cells.length > 0 && cells.every(({ version }) => version === undefined);
  const knownVersion = showsItself ? memory.version : '';
  const head = [memory.born, number, guarded ? context.graceMs : '', ...counts, ...limits, knownVersion].map(String);
  return [keys, [...head, ...parts, ...entries]];
}

function wholeNumber(ms: number | undefined): string {
  return ms === undefined ? '' : String(Math.ceil(ms));
}
