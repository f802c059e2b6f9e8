/** Quotes a foreign value for a message: short, and safe for any value. */

export function quoteValue(value: unknown): string {
  try {
    return (typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)).slice(0, 90);
  } catch {
    return 'something that cannot be read';
  }
}

/** An amount of cents in dollars: `$1.50`. */
export function formatCents(cents: number): string {
  return formatUsd(cents / 100);
}

/** An amount of dollars: `$1.50`. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(2)}`;
}

/** A count beside its limit: `12 of 50`, or that the limit is off. */
export function formatUse(actual: number, limit: number): string {
  return limit >= Number.MAX_SAFE_INTEGER ? `${actual} (limit off)` : `${actual} of ${limit}`;
}

/** Formats a time span in its largest fitting unit: `90 s`, `5 min`, `3 h`, `4 days`. */
export function formatTimeSpan(ms: number): string {
  const secs = Math.max(0, Math.round(ms / 1000));
  if (secs < 100) return `${secs} s`;
  const minutes = Math.round(secs / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
