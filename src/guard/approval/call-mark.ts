/**
 * Computes the mark of a call: a keyed hash of the whole value without `node:crypto`, which takes a hook too long to
 * load. Nobody who does not know the key can find two values with one mark. Approvals have a digest instead.
 */

import { encodeWith, type NodeHash } from './canonical-digest.ts';

/** The largest prime below 2^26: products stay whole numbers, and unlike powers of two it mixes all positions. */
const prime = 67_108_859;
const points = 4;

/** The mark of a value under a secret; undefined if the value is too large, which then equals no other. */
export function markValue(secret: string, value: unknown): string | undefined {
  if (secret === '') return undefined;
  const keys = Array.from({ length: points }, (_, point) => deriveKey(secret, point));
  return encodeWith(() => createPolynomialHash(keys), value);
}

/** A point from its own part of the secret. */
function deriveKey(secret: string, point: number): number {
  const length = Math.ceil(secret.length / points);
  let key = point + 1;
  for (const unit of secret.slice(point * length, (point + 1) * length)) key = (key * 131 + unit.charCodeAt(0)) % prime;
  return 65_536 + (key % (prime - 65_536));
}

/** Evaluates the content as a polynomial at each of the secret points. */
function createPolynomialHash(keys: readonly number[]): NodeHash {
  const sums = keys.map(() => 1);
  const add = (length: number, unitAt: (at: number) => number) => {
    for (const [point, key] of keys.entries()) {
      let sum = sums[point]!;
      for (let at = 0; at < length; at++) {
        const next = sum * key + unitAt(at) + 1;
        sum = next - Math.floor(next / prime) * prime;
      }
      sums[point] = sum;
    }
  };
  return {
    update(content: string | Uint8Array) {
      if (typeof content === 'string') add(content.length, (at) => content.charCodeAt(at));
      else add(content.length, (at) => content[at]!);
    },
    digest: () => sums.map((sum) => sum.toString(36)).join('.'),
  };
}
