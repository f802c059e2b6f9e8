/** A command line taken apart: which program it starts, through whatever, and what its arguments are. */

import { basename } from 'node:path';

/** What has to be known of a program's arguments to read them. */
export interface Grammar {
  /** Flags that take one value, and flags that take all up to the next flag. */
  readonly valued: readonly string[];
  readonly listed?: readonly string[];
}

/** One argument: a flag with what it took, or a word of its own. */
export interface Argument {
  readonly flag?: string;
  readonly values: readonly string[];
  /** As it stood in the command. */
  readonly words: readonly string[];
}

const launchers = new Set(
  'env nice nohup time stdbuf npx bunx pnpm npm yarn dlx exec x node bun deno run tsx'.split(' '),
);

/** Where in a command a program stands, by its name or its package; -1 where it is another. */
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

/** The last of some flags, or undefined where none of them is there. */
export function findFlag(args: readonly Argument[], ...flags: readonly string[]): Argument | undefined {
  return args.findLast(({ flag }) => flag !== undefined && flags.includes(flag));
}

/** The words of all flags but some. */
export function flagsWithout(args: readonly Argument[], ...flags: readonly string[]): readonly string[] {
  return args.flatMap(({ flag, words }) => (flag === undefined || flag === '--' || flags.includes(flag) ? [] : words));
}

/** The words that are no flags and belong to none. */
export function listPositionals(args: readonly Argument[]): readonly string[] {
  return args.flatMap(({ flag, words }) => (flag === undefined ? words : []));
}
