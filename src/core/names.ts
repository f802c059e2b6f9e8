/** Names of settings: conversion between spellings, formatted paths, and the nearest known name. */

import { nameLengthMax } from './limits.ts';

/** Converts `failureThreshold` and `failure_threshold` to `failure_threshold`. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Converts `failure_threshold` to `failureThreshold`. */
export function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The path to a value of a document: keys as written, and positions in lists. */
export type Path = readonly (string | number)[];

/** Formats a path as TOML does: special keys in quotes, numbers in brackets. */
export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += `${text && '.'}${/^[\w-]+$/.test(part) ? part : JSON.stringify(shorten(part, nameLengthMax))}`;
  }
  return text;
}

/** Cuts a text that is too long. */
export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** Finds the most similar candidate, if one is near enough. */
export function findNearestName(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  if (name.length > 64) return undefined; // Too long for a typing error.
  for (const candidate of candidates) {
    // A missing suffix (`max_idle` for `max_idle_secs`) counts as one letter.
    const distance = candidate.startsWith(`${name}_`) ? 1 : editDistance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** The number of letters to add, drop or change. */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
