/** The retry delay of a call whose store request is pending; it grows with the waiting time. */

import { retryDelayMs } from './limits.ts';

/** Whether a call is a retry at its retry time; timers may fire slightly early. */
export function isRetry(retryAtMs: number | undefined, atMs: number): boolean {
  return retryAtMs !== undefined && retryAtMs <= atMs + retryDelayMs / 2;
}

/** When a call retries whose store request was sent at `requestedAtMs`. */
export function retryTimeAfter(atMs: number, requestedAtMs: number): number {
  return atMs + Math.max(retryDelayMs, atMs - requestedAtMs);
}

const datePattern = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/;
const monthNames = 'JanFebMarAprMayJunJulAugSepOctNovDec';
const daysToEpoch = 719_468; // From 1 March of the year 0.

/** The wall time in milliseconds of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`; undefined for any other text. */
export function parseHttpDate(text: unknown): number | undefined {
  const [, day, name = '', year, hours, minutes, secs] = datePattern.exec(String(text)) ?? [];
  const month = monthNames.indexOf(name) / 3;
  if (year === undefined || !Number.isInteger(month) || month < 0) return undefined;
  // Years begin with March, so that a leap day is the last one.
  const years = Number(year) - (month < 2 ? 1 : 0);
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  const dayOfYear = Math.floor((153 * ((month + 10) % 12) + 2) / 5) + Number(day) - 1;
  const days = 365 * years + leapDays + dayOfYear - daysToEpoch;
  return (((days * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(secs)) * 1000;
}
