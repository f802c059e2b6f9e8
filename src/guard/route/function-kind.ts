/** Tells from a function itself, before its first call, whether it returns promises. */

import type { AnyFunction } from '../api.ts';

/** Whether the function is declared `async`. */
export function isAsyncFunction(fn: AnyFunction): boolean {
  try {
    return Object.prototype.toString.call(fn) === '[object AsyncFunction]';
  } catch {
    return false; // The function cannot be inspected; its return value decides.
  }
}

/** The characters of a source that are read. */
const sourceMax = 500;

/**
 * A function whose first statement returns a promise: `(url) => fetch(url)`, `() => new Promise(…)`, or an `async`
 * function that was compiled for an old target.
 */
const promiseFirst = new RegExp(
  [
    /^(?:(?:function\b)?\s*[\w$]*\s*\([^()]*\)|[\w$]+)\s*(?:=>\s*)?/, // The head of the function.
    /(?:\{\s*(?:(?:var|let|const)\s[^;{]*;\s*)?return\s+)?/, // The body, perhaps with a declaration.
    /(?:fetch|__awaiter|__async|_async_?[tT]o_?[gG]enerator|new\s+Promise|Promise\.\w+)\s*\(/,
  ]
    .map(({ source }) => source)
    .join(''),
);

/** Whether the source of a function shows that it returns a promise. */
export function returnsPromise(fn: AnyFunction): boolean {
  try {
    return promiseFirst.test(Function.prototype.toString.call(fn).slice(0, sourceMax));
  } catch {
    return false; // A proxy has no source.
  }
}
