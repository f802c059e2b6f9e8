/** Gives every part of a history a key: the same part has the same key in every request that repeats it. */

import { looksLikeFailure } from '../../agents/reading/shell-failure.ts';
import { fingerprint } from '../../guard/internal.ts';
import type { HistoryCall, HistoryItem } from '../shapes/shape.ts';

/** A part of a history with its key. */
export type KeyedItem =
  | { readonly type: 'user'; readonly text: string; readonly key: string }
  | { readonly type: 'assistant'; readonly text: string; readonly calls: readonly KeyedCall[]; readonly key: string }
  | {
      readonly type: 'result';
      /** The key of its call. */
      readonly key: string;
      readonly output: unknown;
      readonly ok: boolean;
      /** The place of its message in the request. */
      readonly at: number;
    };

export interface KeyedCall extends HistoryCall {
  readonly key: string;
}

/** Names of calls that are remembered to recognise a history whose beginning was cut off. */
const namesMax = 2_000;

/** The name of a conversation: equal while it begins with the same prompts. */
export function nameConversation(history: readonly HistoryItem[]): string {
  const end = history.findIndex(({ type }) => type !== 'user');
  const prompts = history.slice(0, end === -1 ? history.length : end);
  return (fingerprint('conversation', prompts) >>> 0).toString(36);
}

/** Whether a history has an answer of the model. */
export function hasAnswers(history: readonly HistoryItem[]): boolean {
  return history.some(({ type }) => type === 'assistant');
}

/** Gives the histories of one conversation keys. */
export interface HistoryKeys {
  read(history: readonly HistoryItem[]): readonly KeyedItem[];
}

/**
 * Some providers have no ids, and some use one id for several calls. So the number of the occurrence is a part of the
 * key, and calls that were cut from the beginning of the history go on being counted.
 */
export function createHistoryKeys(): HistoryKeys {
  /** The names of the last history's calls, in order. */
  let names: readonly string[] = [];
  /** How often each name occurs in what was cut off. */
  const cut = new Map<string, number>();

  function forgetCut(next: readonly string[]): void {
    const first = next[0];
    if (first === undefined || names.length === 0 || names[0] === first) return;
    let start = names.indexOf(first);
    while (start !== -1 && !isContinued(names, start, next)) start = names.indexOf(first, start + 1);
    for (const name of start === -1 ? names : names.slice(0, start)) addTo(cut, name);
  }

  return {
    read(history) {
      const calls = history.flatMap((item) => (item.type === 'assistant' ? item.calls : []));
      const own = calls.map((call) => call.id ?? nameCall(call));
      // Calls with ids of their own cannot be confused.
      if (calls.some(({ id }) => id === undefined) || new Set(own).size < own.length || cut.size > 0) forgetCut(own);
      if (cut.size > namesMax) cut.clear();
      names = own.slice(0, namesMax);
      return keyItems(history, new Map(cut));
    },
  };
}

/** Whether the rest of a list is the beginning of another one, or the other one the beginning of the rest. */
function isContinued(names: readonly string[], start: number, next: readonly string[]): boolean {
  const length = Math.min(names.length - start, next.length);
  for (let at = 0; at < length; at++) if (names[start + at] !== next[at]) return false;
  return true;
}

function addTo(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count;
}

function keyItems(history: readonly HistoryItem[], counts: Map<string, number>): readonly KeyedItem[] {
  const number = (name: string): string => {
    const count = addTo(counts, name);
    return count === 1 ? name : `${name} ${count}`;
  };
  /** Calls without a result so far. */
  const open: KeyedCall[] = [];
  return history.flatMap((item): KeyedItem[] => {
    if (item.type === 'user') return [{ ...item, key: number(`user ${fingerprint('user', item.text)}`) }];
    if (item.type === 'assistant') {
      const calls = item.calls.map((call) => ({ ...call, key: number(call.id ?? nameCall(call)) }));
      open.push(...calls);
      const key = calls.length > 0 ? '' : number(`assistant ${fingerprint('assistant', item.text)}`);
      return [{ ...item, calls, key }];
    }
    const found = findCall(open, item);
    if (found === -1) return []; // The call was cut from the history.
    const [{ key, name }] = open.splice(found, 1) as [KeyedCall];
    const { output, at } = item;
    return [{ type: 'result', key, output, at, ok: item.ok ?? !looksLikeFailure(output, name) }];
  });
}

/** The open call of a result. Subagents of Gemini CLI have ids in results, and none in calls. */
function findCall(open: readonly KeyedCall[], result: Extract<HistoryItem, { readonly type: 'result' }>): number {
  const { id, name } = result;
  const byId = id === undefined ? -1 : open.findIndex((call) => call.id === id);
  if (byId !== -1) return byId;
  return open.findIndex((call) => call.name === name && (id === undefined || call.id === undefined));
}

/** The name of a call without its id. */
export function nameCall({ name, input }: HistoryCall): string {
  return `${name} ${fingerprint(name, input)}`;
}
