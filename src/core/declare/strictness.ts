/** Compares two values of a setting by how much they protect. */

import { isTable } from '../plain-copy.ts';
import { mergeToolLists, type ToolLists } from './mcp-settings.ts';
import type { ChoiceSetting, Setting } from './setting.ts';

/** The numbers that hold for names without an entry of a map, before and after. */
export interface MapFallback {
  readonly base: number;
  readonly value: number;
}

/**
 * Returns the stricter of two values. It equals `value` if `value` protects at least as much as `base`. Where the
 * values have no order, `base` stays.
 */
export function stricterOf(setting: Setting, base: unknown, value: unknown, fallback?: MapFallback): unknown {
  if (setting.stricter === 'any' || isEqual(base, value)) return value;
  if (setting.stricter === 'default') return base;
  switch (setting.kind) {
    case 'whole':
    case 'number':
      return pickNumber(setting.stricter, base as number | undefined, value as number | undefined);
    case 'flag':
      return base === setting.stricter ? base : value;
    case 'choice':
      return rankOf(setting, base) < rankOf(setting, value) ? base : value;
    case 'texts':
      return setting.stricter === 'more'
        ? mergeTexts(value as readonly string[], base as readonly string[])
        : (value as readonly string[]).filter((text) => (base as readonly string[]).includes(text));
    case 'counts':
    case 'names':
      return setting.stricter === 'fewer'
        ? keepEqualEntries(value as Entries, base as Entries)
        : keepLowerEntries(value as Entries, base as Entries, fallback);
    case 'tools':
      return mergeToolLists(base as ToolLists, value as ToolLists);
  }
}

/** Whether two values of settings are the same; lists and maps are compared by their contents. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isEqual(item, other[index]));
  if (!isTable(one) || !isTable(other)) return false;
  const names = Object.keys(one);
  const isSame = (name: string) => Object.hasOwn(other, name) && isEqual(one[name], other[name]);
  return names.length === Object.keys(other).length && names.every(isSame);
}

/** A number that is off is the highest. */
function pickNumber(
  stricter: 'lower' | 'higher',
  base: number | undefined,
  value: number | undefined,
): number | undefined {
  const isLower = (base ?? Number.POSITIVE_INFINITY) < (value ?? Number.POSITIVE_INFINITY);
  return isLower === (stricter === 'lower') ? base : value;
}

/** The place of a word in the order of strictness, the strictest first. */
function rankOf({ stricter, of }: ChoiceSetting, word: unknown): number {
  const words: readonly (string | readonly string[])[] = Array.isArray(stricter) ? stricter : of;
  const index = words.findIndex((each) => (typeof each === 'string' ? each === word : each.includes(word as string)));
  return stricter === 'later' ? -index : index;
}

function mergeTexts(value: readonly string[], base: readonly string[]): readonly string[] {
  const known = new Set(value);
  return [...value, ...base.filter((text) => !known.has(text))];
}

type Entries = Readonly<Record<string, unknown>>;

function keepEqualEntries(value: Entries, base: Entries): Entries {
  return Object.fromEntries(Object.entries(value).filter(([name, item]) => readOwn(base, name) === item));
}

/** A higher number for a name that had none is left out: the name keeps the number of all others. */
function keepLowerEntries(value: Entries, base: Entries, fallback: MapFallback | undefined): Entries {
  const rest = fallback ?? { base: 0, value: 0 };
  const lower = new Map<string, unknown>();
  for (const [name, item] of Object.entries(value)) {
    const before = readOwn(base, name);
    if (before !== undefined) lower.set(name, Math.min(before as number, item as number));
    else if ((item as number) <= rest.base) lower.set(name, item);
  }
  for (const [name, item] of Object.entries(base))
    if (!Object.hasOwn(value, name)) lower.set(name, Math.min(item as number, rest.value));
  return Object.fromEntries(lower);
}

function readOwn(entries: Entries, name: string): unknown {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}
