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
