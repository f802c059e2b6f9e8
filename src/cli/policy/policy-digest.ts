/** The digest by which a policy file is trusted: the SHA-256 of its text. */

import { computeSha256Hex } from '../../stores/cells/sha256.ts';

/** Longer texts are digested by `node:crypto`, which takes a hook longer to load than a short text to digest. */
const ownLengthMax = 32_768;

export function digestText(text: string): string {
  if (text.length <= ownLengthMax) return computeSha256Hex(Buffer.from(text));
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
}
