/** Checks single settings that code hands in: by name and by kind, so that a typo never switches a limit off. */

import { SwitchgearError } from './error.ts';
import { halfOpenPermitsMax, secsMax, windowCallsMax } from './limits.ts';
import { quoted } from './quoted.ts';

/** Numbers that may be 0, that may have a fraction, that are a share, and settings that may be absent or "none". */
const zeros = /Jitter|jitterSeed/;
const fractions = /Secs$|RateThreshold$|Share$|Factor$|Jitter$/;
const shares = /RateThreshold$|Share$|Jitter$/;
const optionals = /^(failureRateThreshold|slowCallSecs|maxConcurrent|timeoutSecs|maxTokens)$/;

/** The words that a setting takes. */
const choices: Readonly<Record<string, string>> = {
  mode: 'enforce observe off',
  trip: 'consecutive cumulative count_window time_window',
  rateWindow: 'calls time',
  recovery: 'timed manual',
  leaseExpiry: 'failure neutral',
  scope: 'task session agent project shared',
};

/** The most that a number may be. */
function mostOf(name: string): number {
  if (shares.test(name)) return 1;
  if (name === 'halfOpenPermits') return halfOpenPermitsMax;
  if (name === 'windowCalls' || name === 'minimumCalls') return windowCallsMax;
  return name.endsWith('Secs') ? secsMax : 1e12;
}

/** Whether a setting may be absent: nobody looks then. */
export function isOptional(name: string): boolean {
  return optionals.test(name);
}

/** The part, in the names of the settings; `defaults` says which there are and of what kind. */
export function checkPart<T extends object>(defaults: T, input: unknown, where: string): Partial<T> {
  const part: Record<string, unknown> = {};
  const refuse = (text: string): never => {
    throw new SwitchgearError('invalid_policy', `${where}${text}`);
  };
  let entries: [string, unknown][] = [];
  try {
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) entries = Object.entries(input);
    else refuse(` must be an object, got ${quoted(input)}`);
  } catch (error) {
    if (error instanceof SwitchgearError) throw error;
    refuse(' cannot be read');
  }
  for (const [key, value] of entries) {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    // A cap on tokens is a task's; every other setting that may be absent is a breaker's.
    const may = isOptional(name) && (name === 'maxTokens') === Object.hasOwn(defaults, 'maxToolCalls');
    const model = may ? 1 : Object.hasOwn(defaults, name) ? (defaults as Record<string, unknown>)[name] : undefined;
    if (model === undefined) refuse(`.${key.slice(0, 80)} is not a setting`);
    if (may && (value === undefined || value === 'none')) {
      part[name] = undefined;
      continue;
    }
    const words = choices[name]?.split(' ');
    const most = mostOf(name);
    const low = zeros.test(name) ? 0 : /Factor$/.test(name) || !fractions.test(name) ? 1 : Number.MIN_VALUE;
    const from = low > 0 && low < 1 ? 'above 0' : `from ${low}`;
    const kind =
      words !== undefined
        ? `one of ${words.join(', ')}`
        : typeof model === 'number'
          ? `a ${fractions.test(name) ? '' : 'whole '}number ${from} to ${most}`
          : `a ${Array.isArray(model) ? 'list of texts' : typeof model}`;
    const fits = Array.isArray(model)
      ? Array.isArray(value) && value.every((one) => typeof one === 'string')
      : typeof value === 'number' && typeof model === 'number'
        ? value >= low && value <= most && (fractions.test(name) || Number.isInteger(value))
        : typeof value === typeof model && (words?.includes(value as string) ?? true);
    if (!fits) refuse(`.${name} must be ${kind}, got ${quoted(value)}`);
    part[name] = value;
  }
  return part as Partial<T>;
}
