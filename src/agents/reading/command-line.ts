/** Parses a command line: finds the program, also behind launchers such as npx, and its arguments. */

import { basename } from 'node:path';

/** The flags of a program that take values. */
export interface Grammar {
  /** Flags with one value, and flags with all values up to the next flag. */
  readonly valued: readonly string[];
  readonly listed?: readonly string[];
}

/** One argument: a flag with its values, or a positional word. */
export interface Argument {
  readonly flag?: string;
  readonly values: readonly string[];
  /** The original words. */
  readonly words: readonly string[];
}

const launchers = new Set(
  'env nice nohup time stdbuf npx bunx pnpm npm yarn dlx exec x node bun deno run tsx'.split(' '),
);

/** The index of a program in a command, by its name or package; -1 if absent. */
export function findProgram(command: readonly string[], names: readonly string[], packages: readonly string[]): number {
  for (let at = 0; at < command.length; at++) {
    const word = command[at]!;
    const path = word.replaceAll('\\', '/');
    const name = basename(path).replace(/\.(c|m)?js$|\.(exe|cmd|ps1)$/, '');
    if (names.includes(name)) return at;
    if (packages.some((each) => path === each || path.startsWith(`${each}@`) || path.includes(`/${each}/`))) return at;
    const isLauncher = launchers.has(name) || word.startsWith('-') || /^\w+=/.test(word);
    if (!isLauncher) return -1;
  }
  return -1;
}

export function parseArguments(words: readonly string[], { valued, listed = [] }: Grammar): readonly Argument[] {
  const args: Argument[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === '--') {
      args.push({ flag: word, values: [], words: [word] });
      for (const rest of words.slice(at + 1)) args.push({ values: [rest], words: [rest] });
      return args;
    }
    if (!word.startsWith('-') || word === '-') {
      args.push({ values: [word], words: [word] });
      continue;
    }
    const [flag = '', ...joined] = word.split('=');
    let end = at + 1;
    if (joined.length === 0 && valued.includes(flag)) end = Math.min(at + 2, words.length);
    if (joined.length === 0 && listed.includes(flag)) while (end < words.length && !words[end]!.startsWith('-')) end++;
    const values = joined.length > 0 ? [joined.join('=')] : words.slice(at + 1, end);
    args.push({ flag, values, words: words.slice(at, end) });
    at = end - 1;
  }
  return args;
}

/** The last of some flags, or undefined. */
export function findFlag(args: readonly Argument[], ...flags: readonly string[]): Argument | undefined {
  return args.findLast(({ flag }) => flag !== undefined && flags.includes(flag));
}

/** The words of all flags except some. */
export function flagsWithout(args: readonly Argument[], ...flags: readonly string[]): readonly string[] {
  return args.flatMap(({ flag, words }) => (flag === undefined || flag === '--' || flags.includes(flag) ? [] : words));
}

/** The positional words. */
export function listPositionals(args: readonly Argument[]): readonly string[] {
  return args.flatMap(({ flag, words }) => (flag === undefined ? words : []));
}
