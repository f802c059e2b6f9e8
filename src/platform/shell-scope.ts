/** The folder, variables and functions of a shell at a place of a script. */

import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { shellAlternativesMax } from '../core/limits.ts';
import type { Alternatives } from './shell-expansion.ts';
import { unknownOutput } from './shell-words.ts';

export interface ShellScope {
  /** The folders that commands may run in: several after a `cd` that may have failed. */
  readonly folders: readonly string[];
  readonly previous: readonly string[];
  /** The folders of `pushd`. */
  readonly stack: readonly (readonly string[])[];
  readonly variables: Map<string, Alternatives>;
  readonly functions: Map<string, string>;
}

/** The scope of a subshell. */
export function forkScope(scope: ShellScope): ShellScope {
  return { ...scope, variables: new Map(scope.variables), functions: new Map(scope.functions) };
}

/** Folders, values and bodies that one scope or the other may have. */
export function mergeScopes(one: ShellScope, other: ShellScope): ShellScope {
  const variables = new Map(one.variables);
  for (const [name, values] of other.variables) {
    const merged = new Set([...(variables.get(name) ?? []), ...values]);
    variables.set(name, [...merged].slice(0, shellAlternativesMax));
  }
  return {
    folders: [...new Set([...one.folders, ...other.folders])].slice(0, foldersMax),
    previous: [...new Set([...one.previous, ...other.previous])].slice(0, foldersMax),
    stack: one.stack.length >= other.stack.length ? one.stack : other.stack,
    variables,
    functions: new Map([...other.functions, ...one.functions]),
  };
}

/** The folders that a command may run in. */
const foldersMax = 16;

/** Applies `cd`, `pushd` or `popd`; not sure if the folder may not exist when the script runs. */
export function changeFolder(
  scope: ShellScope,
  program: string,
  args: readonly string[],
  home: string | undefined,
  made: ReadonlySet<string>,
): { readonly scope: ShellScope; readonly isSure: boolean } {
  const { folders, previous, stack } = scope;
  const moved = (next: readonly string[], nextStack = stack) => ({
    ...scope,
    folders: next,
    previous: folders,
    stack: nextStack,
  });
  if (program === 'popd') {
    const next = stack.at(-1);
    return { scope: next === undefined ? scope : moved(next, stack.slice(0, -1)), isSure: next !== undefined };
  }
  const target = args.find((arg) => !/^-./.test(arg)) ?? (program === 'pushd' ? undefined : (home ?? '.'));
  if (target === undefined) {
    const next = stack.at(-1) ?? folders;
    return { scope: moved(next, [...stack.slice(0, -1), folders]), isSure: true };
  }
  const expanded = target.replace(/^~(?=\/|$)/, home ?? '~');
  const next = target === '-' ? previous : [...new Set(folders.map((folder) => resolve(folder, expanded)))];
  const nextStack = program === 'pushd' ? [...stack, folders] : stack;
  return { scope: moved(next.slice(0, foldersMax), nextStack), isSure: next.every((folder) => mayExist(folder, made)) };
}

/** Whether a path is a folder, or will be: the script made it, or the output of a program names it. */
function mayExist(path: string, made: ReadonlySet<string>): boolean {
  if (path.includes(unknownOutput) || made.has(path)) return true;
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}

/** The folders that a command makes, relative to its own. */
export function listMadeFolders([program = '', ...args]: readonly string[]): readonly string[] {
  if (/^(mkdir|install|cp|mv|unzip|tar)$/.test(program)) return args.filter((arg) => !arg.startsWith('-'));
  if (program !== 'git' || !/^(clone|worktree)$/.test(args[0] ?? '')) return [];
  const places = args.slice(1).filter((arg) => !arg.startsWith('-'));
  return [...places, ...places.map((place) => basename(place).replace(/\.git$/, ''))];
}
