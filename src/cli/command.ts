/** What a command is: words in, lines out, an exit code back. */

import { SwitchgearError } from '../core/error.ts';

/** The world of a command, handed in so that tests can look at it. */
export interface Terminal {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where somebody can answer questions; absent = nobody is asked here. */
  readonly input?: NodeJS.ReadStream;
  /** Whether somebody reads along on a screen that shows colours. */
  readonly coloured?: boolean;
  /** Whether the process ends as soon as the command has: what a process leaves open, its end closes. */
  readonly isBrief?: boolean;
  /** Aborted when whoever reads has gone, or wants it to end. */
  readonly stopSignal?: AbortSignal;
}

/** Exit codes of every command: it worked, it did not, it was asked wrongly. */
export const exitCodes = { ok: 0, error: 1, usage: 2 } as const;

export interface Command {
  /** How to call it, one line per form. */
  readonly usage: readonly string[];
  /** More about it, for whoever asks this command for help. */
  readonly details?: readonly string[];
  run(args: readonly string[], terminal: Terminal): number | Promise<number>;
}

/** Says that a command was called in a way it does not know. */
export function usageError(message: string): SwitchgearError {
  return new SwitchgearError('usage', message);
}

/** What was said on the command line. */
export interface ParsedArgs {
  readonly positionals: readonly string[];
  /** Switches that are on. */
  readonly switches: ReadonlySet<string>;
  /** Options with what was given for them. */
  readonly values: ReadonlyMap<string, string>;
}

/** Splits arguments into words, known switches, and options that take a value; an unknown one is an error. */
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
    else if (!valueOptions.includes(name)) throw usageError(`unknown option ${arg}`);
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
