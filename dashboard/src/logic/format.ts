/** Formats numbers, money and times for people. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A span in at most two units: `12 s`, `4 min`, `1 h 5 min`, `2 d 3 h`. */
export function formatSpan(ms: number): string {
  const span = Math.max(0, ms);
  if (span < 90 * second) return `${Math.floor(span / second)} s`;
  if (span < 90 * minute) return `${Math.floor(span / minute)} min`;
  if (span < 2 * day) return joinUnits(span, hour, 'h', minute, 'min');
  return joinUnits(span, day, 'd', hour, 'h');
}

function joinUnits(span: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((span % large) / small);
  const whole = `${Math.floor(span / large)} ${largeName}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallName}`;
}

/** A number with separators of thousands and at most two decimals. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

/** Cents as dollars: `$4.20`; less than a cent has four decimals. */
export function formatCents(cents: number): string {
  const dollars = cents / 100;
  const digits = dollars !== 0 && Math.abs(dollars) < 0.01 ? 4 : 2;
  return dollars.toLocaleString('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** A quantity in its unit: cents are money, milliseconds and seconds are spans. */
export function formatQuantity(value: number, unit: string | undefined): string {
  if (unit === 'cents') return formatCents(value);
  if (unit === 'ms') return formatSpan(value);
  if (unit === 'secs') return formatSpan(value * second);
  return formatNumber(value);
}

/** The used part of a limit: `51 of 50`, `$4.20 of $5.00`. */
export function formatUsage(used: number, limit: number | undefined, unit?: string): string {
  const text = formatQuantity(used, unit);
  return limit === undefined ? text : `${text} of ${formatQuantity(limit, unit)}`;
}

/** A count with its noun: `1 card`, `3 cards`. */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** A large number in three digits: `950`, `9.5k`, `219k`, `1.2M`. */
export function formatShort(value: number): string {
  return value < 1_000 ? formatNumber(value) : shortFormat.format(value).replace('K', 'k');
}

const shortFormat = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

/** A moment of the past: `just now`, `4 min ago`. */
export function formatAgo(ms: number): string {
  return ms < 5 * second ? 'just now' : `${formatSpan(ms)} ago`;
}

/** A sentence of the store in words for people: `spend cents: 410 of 500` is `spend: $4.10 of $5.00`. */
export function plainSentence(text: string): string {
  return text.replace(
    /\bspend[ _]cents: (\d+(?:\.\d+)?) of (\d+)/g,
    (_, used: string, limit: string) => `spend: ${formatUsage(Number(used), Number(limit), 'cents')}`,
  );
}

/** The code with which a program uses a store of this name; a password must be written into the address of Redis. */
export function libraryCode(name: string): string {
  const path = /^sqlite:(.+)$/.exec(name)?.[1];
  const { url, prefix } = splitRedisName(name);
  const [factory, from, store] =
    path === undefined
      ? ['redisStore', 'redis', `await redisStore({ url: ${JSON.stringify(url)}${prefix} })`]
      : ['sqliteStore', 'sqlite', `sqliteStore({ path: ${JSON.stringify(path)} })`];
  return [
    "import { createSwitchgear } from 'switchgear';",
    `import { ${factory} } from 'switchgear/stores/${from}';`,
    '',
    `const gear = createSwitchgear({ store: ${store} });`,
  ].join('\n');
}

function splitRedisName(name: string): { readonly url: string; readonly prefix: string } {
  const [url = '', prefix] = name.split('?prefix=', 2);
  return { url, prefix: prefix === undefined ? '' : `, prefix: ${JSON.stringify(prefix)}` };
}

/** Splits a name into the part that may be cut, and its end, which stays. */
export function splitName(name: string): readonly [head: string, tail: string] {
  const letters = [...name];
  const kept = letters.length <= 12 ? 0 : 8;
  return [letters.slice(0, letters.length - kept).join(''), letters.slice(letters.length - kept).join('')];
}
