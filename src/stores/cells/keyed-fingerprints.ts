/** Keys fingerprints with the store's secret before they leave the process, so that they cannot be guessed. */

import { sha256Head } from '../../platform/sha256.ts';

/** The entry fields that hold fingerprints. */
const fingerprintFields = new Set('fingerprint errorFingerprint exact loose stateBefore stateAfter'.split(' '));
/** Matches such a field in the JSON of an entry unless it is 0; inside a string its quotes would be escaped. */
const fingerprintPattern = new RegExp(`"(${[...fingerprintFields].join('|')})":(-?[1-9][\\d.e+-]*)`, 'g');

/** Returns a replacer for `JSON.stringify`; equal fingerprints stay equal, and 0 (no fingerprint) stays 0. */
export function createFingerprintReplacer(secret: string): (field: string, value: unknown) => unknown {
  return (field, value) =>
    typeof value === 'number' && value !== 0 && fingerprintFields.has(field)
      ? keyFingerprint(secret, String(value))
      : value;
}

/** Returns a function that keys the fingerprints of a JSON text, which is faster than a replacer call per field. */
export function createFingerprintRewriter(secret: string): (json: string) => string {
  return (json) => json.replace(fingerprintPattern, (_, field, value) => `"${field}":${keyFingerprint(secret, value)}`);
}

/** Hashes the secret, which has a fixed length, and the value: one pass takes a third of the time of an HMAC. */
function keyFingerprint(secret: string, value: string): number {
  return sha256Head(secret + value) || 1;
}
