/** Fingerprints as they leave the process: keyed with the store's secret, so that nobody can try out what they are. */

import { createHmac } from 'node:crypto';

/** Fields of entries that hold one. */
const fields = new Set(['fingerprint', 'errorFingerprint', 'exact', 'loose']);

/** For `JSON.stringify`: equal fingerprints stay equal, and 0, where nobody looked, stays 0. */
export function keyed(secret: string): (field: string, value: unknown) => unknown {
  return (field, value) => {
    if (typeof value !== 'number' || value === 0 || !fields.has(field)) return value;
    return createHmac('sha256', secret).update(String(value)).digest().readUInt32BE() || 1;
  };
}
