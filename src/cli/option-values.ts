/** Parses the values of options that several commands have. */

import { type ParsedArgs, usageError } from './command.ts';

/** Parses a whole number from 1. */
export function parseWholeNumber(values: ParsedArgs['values'], name: string): number | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1) return Number(text);
  throw usageError(`${name} must be a whole number from 1 to 999999999, got ${JSON.stringify(text)}`);
}

/** Parses dollars, with or without `$`. */
export function parseDollars(values: ParsedArgs['values'], name: string): number | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  const [, dollars] = /^\$?(\d{1,7}(?:\.\d{1,2})?)$/.exec(text) ?? [];
  const cents = Math.round(Number(dollars) * 100);
  if (cents >= 1) return cents;
  throw usageError(`${name} must be dollars, as in 2.50, got ${JSON.stringify(text)}`);
}

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Parses a duration: `90s`, `30m`, `2h`, `1d`. A number without a unit could mean seconds or minutes. */
export function parseDurationSecs(values: ParsedArgs['values'], name: string, minSecs: number): number | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,7})([smhd]?)$/.exec(text) ?? [];
  if (unit === '' && Number(amount) > 0)
    throw usageError(`${name} needs a unit: write ${name} ${amount}s for seconds or ${name} ${amount}m for minutes`);
  const secs = Number(amount) * (unit ? units[unit as keyof typeof units] : 1);
  if (secs >= minSecs) return secs;
  throw usageError(`${name} must be a time, as in 90s, 30m or 2h, got ${JSON.stringify(text)}`);
}

/** Parses a port; 0 means any free one. */
export function parsePort(values: ParsedArgs['values'], defaultPort: number): number {
  const text = values.get('--port');
  if (text === undefined) return defaultPort;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw usageError(`--port must be a whole number from 0 to 65535, got ${JSON.stringify(text)}`);
}
