/** Reads a count that another program reports. A count that is too large to be true is the largest one, never none. */

/** The largest count of tokens that is booked. */
const reportedCountMax = 1e12;

/** The count as a whole number; undefined if the value cannot be read as one. A missing count is 0. */
export function readCount(value: unknown): number | undefined {
  if (value === undefined || value === null) return 0;
  const number = typeof value === 'string' && /^\d{1,400}$/.test(value) ? Number(value) : value;
  if (typeof number === 'bigint') return number < 0n ? undefined : Math.min(Number(number), reportedCountMax);
  if (typeof number !== 'number' || !(number >= 0)) return undefined;
  return Math.min(Math.ceil(number), reportedCountMax);
}
