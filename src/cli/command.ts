/** What a command is: words in, lines out, an exit code back. */

import { SwitchgearError } from '../core/error.ts';

/** The world of a command, handed in so that tests can look at it. */
export interface Terminal {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Exit codes of every command: it worked, it did not, it was asked wrongly. */
export const exitCodes = { ok: 0, error: 1, usage: 2 } as const;

export interface Command {
  /** How to call it, one line per form. */
  readonly usage: readonly string[];
  run(args: readonly string[], terminal: Terminal): number | Promise<number>;
}

/** Says that a command was called in a way it does not know. */
export function usageError(message: string): SwitchgearError {
  return new SwitchgearError('usage', message);
}

/** Splits arguments into words and known switches; an unknown switch is an error. */
export function readArgs(
  args: readonly string[],
  switches: readonly string[],
  most: number,
): { words: string[]; on: Set<string> } {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const on = new Set(args.filter((arg) => arg.startsWith('-')));
  for (const one of on) if (!switches.includes(one)) throw usageError(`unknown option ${one}`);
  if (words.length > most) throw usageError(`too many arguments: ${words.slice(most).join(' ')}`);
  return { words, on };
}
