/** How a deal is written for the script that carries it out: its keys, and its arguments in their order. */

import { cardsMax } from '../../core/limits.ts';
import type { Transaction, WindowMark } from '../../ports/store.ts';
import type { View } from '../cells/cell-views.ts';
import { createFingerprintReplacer } from '../cells/keyed-fingerprints.ts';
import { isForOperators, needsGracePeriod, type Plan } from '../cells/transaction-plan.ts';
import type { RedisKeys } from './keys.ts';
import type { KnownState } from './known-state.ts';

/** A cell to be written. */
export interface CellWrite {
  readonly key: string;
  /** The version that has to be there; 0 = none. */
  readonly expected: number;
  /** The one it gets; undefined = the next. */
  readonly version: number | undefined;
  /** Undefined where it is dropped. */
  readonly text: string | undefined;
  readonly keepMs: number | undefined;
}

/** What requests are written with. */
export interface RequestContext {
  readonly names: RedisKeys;
  readonly memory: KnownState;
  readonly graceMs: number;
  readonly journalMax: number;
  readonly keysMax: number;
  wallMs(): number;
}

export interface Request {
  readonly cells: readonly CellWrite[];
  readonly adds: readonly (readonly string[])[];
  readonly marks: NonNullable<Transaction['marks']>;
  readonly entries: readonly string[];
  readonly guarded: boolean;
  /** Lost too often: asks for a turn. */
  readonly turn: boolean;
}

/** Numbers that the list of a process remembers: more deals are never out at once. It is cut each so many numbers. */
export const outMax = 256;
export const trimEvery = 256;

/** The version that has to be there. One that was dropped is not there, whatever its last version was. */
export function expectedVersion(view: View): number {
  return view.text === undefined ? 0 : view.cell.version;
}

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

/** Cells and marks as they are given, and totals that must not be lower than this. */
export function makeRestoreRequest(
  cells: readonly CellWrite[],
  totals: readonly (readonly [string, number])[],
  marks: readonly WindowMark[] = [],
): Request {
  const adds = totals.map(([key, total]) => [`s:${key}`, 'raise', String(total), '', '']);
  return { cells, adds, marks, entries: [], guarded: false, turn: false };
}

/** Keys and arguments of the script. */
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
  // Who the store is shows by the versions that it gives out, unless it gives none or its age matters.
  const showsItself = !guarded && cells.length > 0 && cells.every(({ version }) => version === undefined);
  const knownVersion = showsItself ? memory.version : '';
  const head = [memory.born, number, guarded ? context.graceMs : '', ...counts, ...limits, knownVersion].map(String);
  return [keys, [...head, ...parts, ...entries]];
}

function wholeNumber(ms: number | undefined): string {
  return ms === undefined ? '' : String(Math.ceil(ms));
}
