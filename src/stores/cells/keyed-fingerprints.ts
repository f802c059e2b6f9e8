/** Fingerprints as they leave the process: keyed with the store's secret, so that nobody can try out what they are. */

import { sha256Head } from './checksums.ts';

/** Fields of entries that hold one. */
const fingerprintFields = new Set(['fingerprint', 'errorFingerprint', 'exact', 'loose']);
/** Such a field in the text of an entry, where it is not 0; in a value its quotes would be escaped. */
const fingerprintPattern = new RegExp(`"(${[...fingerprintFields].join('|')})":(-?[1-9][\\d.e+-]*)`, 'g');

/** For `JSON.stringify`: equal fingerprints stay equal, and 0, where nobody looked, stays 0. */
export function createFingerprintReplacer(secret: string): (field: string, value: unknown) => unknown {
  return (field, value) =>
    typeof value === 'number' && value !== 0 && fingerprintFields.has(field)
      ? keyFingerprint(secret, String(value))
      : value;
}

/** The same for what is JSON already: to be asked about every single field costs more than the text itself. */
export function createFingerprintRewriter(secret: string): (json: string) => string {
  return (json) => json.replace(fingerprintPattern, (_, field, value) => `"${field}":${keyFingerprint(secret, value)}`);
}

/** One pass over a secret that is always as long: a third of what an HMAC takes, for eight digits of what it gives. */
function keyFingerprint(secret: string, value: string): number {
  return sha256Head(secret + value) || 1;
}
