/**
 * Computes the mark of a call: a keyed hash of its whole input, for recognizing the same call again. It loads no
 * `node:crypto` for a short input, unlike the digest of an approval. Only who knows the secret can find two inputs with
 * equal marks.
 */

import { sha256Hex } from '../../platform/sha256.ts';
import { encodeWith, type NodeHash } from './canonical-digest.ts';

/** The mark of a value under a secret; undefined if the value is too large, which then equals no other. */
export function markValue(secret: string, value: unknown): string | undefined {
  return secret === '' ? undefined : encodeWith(() => new KeyedHash(secret), value);
}

/** Collects the pieces of a node and hashes them once, after the secret. */
class KeyedHash implements NodeHash {
  readonly #pieces: Uint8Array[];

  constructor(secret: string) {
    this.#pieces = [Buffer.from(secret)];
  }

  update(content: string | Uint8Array): void {
    this.#pieces.push(typeof content === 'string' ? Buffer.from(content, 'utf16le') : Uint8Array.from(content));
  }

  digest(): string {
    return sha256Hex(Buffer.concat(this.#pieces));
  }
}
