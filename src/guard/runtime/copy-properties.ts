/** Gives a guarded function the name, length and own properties of the function, which its type promises. */

import type { AnyFunction } from '../api.ts';

export function copyProperties(fn: AnyFunction, guarded: AnyFunction): AnyFunction {
  try {
    for (const key of ['name', 'length', ...Object.keys(fn)]) {
      const property = Object.getOwnPropertyDescriptor(fn, key);
      if (property !== undefined) Object.defineProperty(guarded, key, property);
    }
  } catch {
    // A proxy that refuses to be read keeps its properties; its calls are guarded all the same.
  }
  return guarded;
}
