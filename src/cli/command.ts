/** The interface of a command: arguments in, lines out, an exit code back. */

import { SwitchgearError } from '../core/error.ts';
import { findNearestName } from '../core/names.ts';

/** The environment of a command; tests pass their own. */
export interface Terminal {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The input on which a person answers questions; absent if the command asks no questions. */
  readonly input?: NodeJS.ReadStream;
  /** The home of the user as the system knows it; never taken from the environment. Read from the system by default. */
  readonly userHome?: string;
  /** Whether the output is a screen that shows colours. */
  readonly coloured?: boolean;
  /** Whether the process exits right after the command, so that open files need no closing. */
  readonly isShortLived?: boolean;
  /** Aborts when the reader of the output is gone, or the command must stop. */
  readonly stopSignal?: AbortSignal;
}

/** The escape codes that start and end a style of the command's own tables and lines. */
const escapeCode = '\u001b';
const ownStyles = new RegExp(`(${escapeCode}\\[(?:[12]|22|3[1-6]|39)m)`);

/** Cleans a text; where colours are shown, the escape codes of the command's own styles stay. */
export function cleanOutput(text: string, coloured: boolean, clean: (text: string) => string): string {
  if (!coloured || !text.includes('\u001b')) return clean(text);
  const parts = text.split(ownStyles);
  return parts.map((part, at) => (at % 2 === 1 ? part : clean(part))).join('');
}

/** Exit codes of every command: success, failure, wrong usage. */
export const exitCodes = { ok: 0, error: 1, usage: 2 } as const;

/** A command of the command line. */
export interface Command {
  /** Usage lines, one per form. */
  readonly usage: readonly string[];
  /** More lines for the help of this command. */
  readonly details?: readonly string[];
  run(args: readonly string[], terminal: Terminal): number | Promise<number>;
}

/** The error for a wrong command line. */
export function usageError(message: string): SwitchgearError {
  return new SwitchgearError('usage', message);
}

/** A parsed command line. */
export interface ParsedArgs {
  readonly positionals: readonly string[];
  /** Switches that are on. */
  readonly switches: ReadonlySet<string>;
  /** Options with their values. */
  readonly values: ReadonlyMap<string, string>;
}

/** Splits arguments into positionals, switches, and options with a value; throws on an unknown option. */
export function readArgs(
  args: readonly string[],
  knownSwitches: readonly string[],
  maxPositionals: number,
  valueOptions: readonly string[] = [],
): ParsedArgs {
  const positionals: string[] = [];
  const enabled = new Set<string>();
  const values = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const [, name = arg, inline] = /^(--[\w-]+)=(.*)$/s.exec(arg) ?? [];
    if (!arg.startsWith('-')) positionals.push(arg);
    else if (knownSwitches.includes(arg)) enabled.add(arg);
    else if (knownSwitches.includes(name)) throw usageError(`${name} takes no value, got ${JSON.stringify(inline)}`);
    else if (!valueOptions.includes(name))
      throw usageError(`unknown option ${name}${suggestName(name, [...knownSwitches, ...valueOptions])}`);
    else {
      const value = inline ?? args[++at];
      if (value === undefined || value === '') throw usageError(`${name} needs a value`);
      if (values.has(name)) throw usageError(`${name} is given twice`);
      values.set(name, value);
    }
  }
  if (positionals.length > maxPositionals)
    throw usageError(`too many arguments: ${positionals.slice(maxPositionals).join(' ')}`);
  return { positionals, switches: enabled, values };
}

/** The hint at the known name that somebody probably meant: `; did you mean --json?`, or nothing. */
export function suggestName(name: string, knownNames: readonly string[]): string {
  const near = findNearestName(name, knownNames);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/** The error for an unknown or missing verb: `expected 'lint' or 'explain', got 'lnt'; did you mean lint?`. */
export function verbError(command: string, verbs: readonly string[], verb: string | undefined): SwitchgearError {
  const quoted = verbs.map((each) => `'${each}'`);
  const expected = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  const got = verb === undefined ? 'nothing' : `'${verb}'${suggestName(verb, verbs)}`;
  return usageError(`${command}: expected ${expected}, got ${got}`);
}
