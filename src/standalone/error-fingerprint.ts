/** A number for what an error says: equal for errors that differ in quoted parts, numbers, paths and ids alone. */

import { fingerprintLengthMax } from '../core/limits.ts';

/** Never 0, which says that nobody looked. */
export function fingerprintError(name: string, message: string): number {
  const parts = /(["'`]).{0,200}?\1|[\w.\\/-]+/gs;
  const text = message.slice(0, fingerprintLengthMax).replace(parts, (part) => (/["'`\d\\/]/.test(part) ? '#' : part));
  let hash = 0;
  for (const letter of name + text) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193);
  return hash || 1;
}
