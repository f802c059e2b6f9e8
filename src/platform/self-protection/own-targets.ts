/**
 * Recognizes calls with which an agent would change its own guard: commands of Switchgear that decide, and writes to
 * the store, the policy and the hook settings. Programs and files are compared by their real paths, never by words in
 * a text. A program that computes such a path itself is not recognized; only a sandbox prevents that.
 */

import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { callPathsMax, shellCommandsMax, shellTextMax } from '../../core/limits.ts';
import { visitShellCommands } from '../shell-commands.ts';
import { isShellProgram, quoteWord } from '../shell-programs.ts';
import type { ShellCommand } from '../shell-reading.ts';
import { findHookSwitch } from './agent-switches.ts';
import { readUnpackCommand } from './archive-names.ts';
import { listDataUrls, listGitScripts, readCommandVariable, readMakefile } from './command-values.ts';
import { readContainerCommand } from './container-mounts.ts';
import { readFindCommand } from './find-writes.ts';
import { findGitWrite } from './git-writes.ts';
import {
  findLaunchedCommand,
  findLaunchedWords,
  findOwnCommand,
  findRunnerScript,
  isLaunchedProgram,
  isOwnProgram,
} from './own-commands.ts';
import {
  containsText,
  findCopiedFile,
  findOwnFile,
  findUnpackedFile,
  listOwnBelow,
  type OwnTargets,
} from './own-files.ts';
import { findSignalledProcess, listOwnPids } from './process-signals.ts';
import { listPatchPaths, readCode } from './program-texts.ts';
import { listWrites } from './written-files.ts';

/** Says what a call would change; undefined if it changes nothing of Switchgear. */
export function findOwnTarget(tool: string, input: unknown, targets: OwnTargets): string | undefined {
  const fields = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {};
  const words = wordsOf(tool);
  const isWriter = words.some((word) => writingWords.has(word)) && !readerName.test(tool);
  const isRemover = words.some((word) => removingWords.includes(word));
  for (const script of typeof input === 'string' ? [input] : readScripts(fields)) {
    const found = findInScript(script, readFolder(fields, targets));
    if (found !== undefined) return found;
  }
  if (typeof fields.code === 'string') {
    const found = findInCode(fields.code, targets);
    if (found !== undefined) return found;
  }
  return findInPatches(input, targets) ?? (isWriter ? findInPaths(fields, targets, isRemover) : undefined);
}

/** The words in the names of tools that write, and of those among them that take something away. */
const removingWords = ['delete', 'remove', 'move', 'rename'];
const writingWords = new Set([
  ...removingWords,
  ...['write', 'edit', 'replace', 'patch', 'create', 'copy', 'update', 'save', 'append', 'insert', 'put', 'upload'],
]);

/** The words of a name: `write_file`, `MultiEdit` and `mcp__files__move` have two each, or three. */
function wordsOf(name: string): readonly string[] {
  const split = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return split.split(/[^a-z]+/);
}

const readerName = /^(read|glob|grep|ls|list|search|view|get|fetch|todo)/i;

/** The scripts of a shell call: a text, or the words of a command. */
function readScripts(fields: Readonly<Record<string, unknown>>): readonly string[] {
  return ['command', 'cmd', 'script', 'code', 'argv', 'commands'].flatMap((name) => {
    const value = fields[name];
    if (typeof value === 'string') return [withArguments(value, fields.args)];
    if (!Array.isArray(value)) return [];
    const words = value.filter((word): word is string => typeof word === 'string');
    if (name === 'commands') return words;
    // The last word of `bash -lc SCRIPT` is the script itself.
    return [words.map((word) => quoteWord(word)).join(' ')];
  });
}

/** A command with its arguments in a field of their own. */
function withArguments(command: string, args: unknown): string {
  if (!Array.isArray(args)) return command;
  const words = args.filter((word): word is string => typeof word === 'string');
  return [command, ...words.map((word) => quoteWord(word))].join(' ');
}

/** The targets with the folder that the call names. */
function readFolder(fields: Readonly<Record<string, unknown>>, targets: OwnTargets): OwnTargets {
  const named = fields.workdir ?? fields.cwd ?? fields.directory ?? fields.working_directory;
  return typeof named === 'string' && named.startsWith('/') ? { ...targets, cwd: named } : targets;
}

/** The files of patches in the format of `apply_patch`, wherever they stand. */
function findInPatches(input: unknown, targets: OwnTargets): string | undefined {
  const texts = typeof input === 'string' ? [input] : Object.values((input ?? {}) as object).flat();
  for (const text of texts.slice(0, callPathsMax)) {
    if (typeof text !== 'string' || !text.includes('*** Begin Patch')) continue;
    const paths = listPatchPaths(text);
    if (paths.length > callPathsMax) return tooLong(`${paths.length} files`);
    for (const path of paths) {
      const found = findOwnFile(path, targets.cwd, targets, false);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function findInPaths(
  fields: Readonly<Record<string, unknown>>,
  targets: OwnTargets,
  isRecursive: boolean,
): string | undefined {
  const paths = new Set<string>();
  const values: (readonly [name: string, value: unknown])[] = Object.entries(fields);
  // The list grows during the iteration: objects and lists may hold further paths.
  for (const [name, value] of values) {
    if (values.length > callValuesMax || paths.size > callPathsMax) return tooLong('its values');
    if (typeof value === 'string' && pathName.test(name)) paths.add(value);
    else if (Array.isArray(value)) for (const each of value) values.push([name, each]);
    else if (typeof value === 'object' && value !== null) for (const each of Object.entries(value)) values.push(each);
  }
  for (const path of paths) {
    const found = findOwnFile(path.replace(/^file:\/\//, ''), targets.cwd, targets, isRecursive);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The values of a call that are searched for paths. */
const callValuesMax = 100_000;

const pathName = /path|file|source|destination|target|uri|^(from|to|dst|src)$/i;

/** What a call changes that is too long to be read. */
function tooLong(what: string): string {
  return `files of Switchgear (${what} are too many to be checked)`;
}

function findInScript(script: string, targets: OwnTargets): string | undefined {
  if (script.length > shellTextMax) return tooLong(`${script.length} characters`);
  const { env, cwd } = targets;
  const variables = { ...env, CLAUDE_PROJECT_DIR: env.CLAUDE_PROJECT_DIR ?? cwd };
  const search: Search = { targets, copies: [], found: undefined };
  const isComplete = visitShellCommands(script, { cwd, variables }, (command) => inspect(command, search));
  return search.found ?? (isComplete ? undefined : tooLong(`more than ${shellCommandsMax} commands or values`));
}

function findInCode(code: string, targets: OwnTargets): string | undefined {
  const search: Search = { targets, copies: [], found: undefined };
  const run = (script: string) => {
    search.found ??= findInScript(script, targets);
  };
  inspectCode([code], targets.cwd, run, search);
  return search.found;
}

/** A search in one script: it ends with the first protected target. */
interface Search {
  readonly targets: OwnTargets;
  /** The copies that earlier commands made, with absolute paths. */
  readonly copies: { readonly sources: readonly string[]; readonly destination: string }[];
  found: string | undefined;
}

/** Looks at one command; returns its output if that is known. */
function inspect(command: ShellCommand, search: Search): string | undefined {
  let output: string | undefined;
  inspectVariables(command, search);
  for (const folder of command.folders) {
    if (search.found !== undefined) return undefined;
    const inspected = inspectIn(folder, command, search);
    output ??= inspected;
  }
  return output;
}

/** Looks at variables whose value a later program runs. */
function inspectVariables({ words, assigned, folders, readText, run }: ShellCommand, search: Search): void {
  const isExport = /^(export|declare|typeset|local|readonly)$/.test(words[0] ?? '');
  const exported = isExport ? words.slice(1).map((word) => word.split(/=(.*)/s, 2) as [string, string?]) : [];
  for (const [name, value] of [...assigned, ...exported]) {
    const { scripts, codes } = readCommandVariable(name, value ?? '', readText);
    for (const script of scripts) run(script);
    if (codes.length > 0) inspectCode(codes, folders[0] ?? '/', run, search);
  }
}

function inspectIn(cwd: string, command: ShellCommand, search: Search): string | undefined {
  const { writes, input, run } = command;
  const { targets } = search;
  if (command.words.length + writes.length > callPathsMax) {
    search.found = tooLong(`${command.words.length} words`);
    return undefined;
  }
  const check = (path: string, isRecursive: boolean) => {
    search.found ??= findOwnFile(path, cwd, targets, isRecursive);
  };
  for (const path of writes) check(path, false);
  const words = search.copies.length === 0 ? command.words : replaceCopies(command.words, cwd, search);
  const [program = '', ...args] = words;
  const name = basename(program);
  search.found ??= findOwnCommand(words, cwd, targets) ?? findLaunchedCommand(words, cwd, targets);
  search.found ??= findHookSwitch(command, cwd, targets) ?? findSignalledProcess(words, targets);
  const inner = findRunnerScript(words);
  if (inner !== undefined) {
    run(inner);
    return undefined;
  }
  if (search.found !== undefined || isShellProgram(name) || isOwnProgram(program, cwd, targets)) return undefined;
  if (name === 'find' || name === 'gfind') {
    const { paths, isDeleted, outputs, scripts } = readFindCommand(args, cwd, targets);
    if (isDeleted) search.found ??= paths[0];
    for (const path of outputs) check(path, false);
    for (const script of scripts) run(script);
    return paths.length === 0 ? undefined : `${paths.join('\n')}\n`;
  }
  if (listsMatches(name, args)) return listMatchingFiles(args, cwd, targets);
  if (name === 'git') {
    search.found ??= findGitWrite(args, cwd, targets);
    for (const script of listGitScripts(args)) run(script);
  }
  inspectPrograms(name, args, cwd, command, search);
  if (name === 'git' && !/^(apply|am)$/.test(args[0] ?? '')) return undefined;
  const { paths, copies, scripts } = listWrites(words, input);
  for (const { path, isRecursive } of paths) check(path, isRecursive);
  for (const { sources, destination } of copies) {
    search.found ??= findCopiedFile(sources, destination, cwd, targets);
    const from = sources.map((source) => resolve(cwd, source));
    if (search.copies.length < copiesMax) search.copies.push({ sources: from, destination: resolve(cwd, destination) });
  }
  for (const script of scripts) run(script);
  return listOwnPids(words, targets);
}

/** The copies of one script that are remembered. */
const copiesMax = 32;

/** The words of a command, with paths into a copy that the script makes replaced by those of the original. */
function replaceCopies(words: readonly string[], cwd: string, { copies }: Search): readonly string[] {
  return words.map((word, at) => {
    const path = resolve(cwd, word);
    if (at >= programWordsMax || word === '' || existsSync(path)) return word;
    for (const { sources, destination } of copies) {
      const tail = relative(destination, path);
      if (tail.startsWith('..')) continue;
      const candidates = sources.flatMap((source) => [join(source, tail), join(dirname(source), tail)]);
      const found = candidates.find((candidate) => existsSync(candidate));
      if (found !== undefined) return found;
    }
    return word;
  });
}

/** The words among which the program of a command is, behind an interpreter and its options. */
const programWordsMax = 8;

/** Programs that run a text among their arguments, or what they read. */
const launcherName =
  /^(tmux|screen|byobu|zellij|expect|socat|vi|vim|nvim|ex|ed|emacs|sqlite3|su|runuser|machinectl|gdb)$/;

const interpreterName =
  /^(node|nodejs|bun|deno|tsx|ts-node|osascript|Rscript|(python|pypy|perl|ruby|php|lua|luajit|tclsh)[\d.]*)$/;

/** Looks into programs that a command is given as text, and at the commands that other programs launch. */
function inspectPrograms(
  name: string,
  args: readonly string[],
  cwd: string,
  { words, input, readText, run }: ShellCommand,
  search: Search,
): void {
  const { targets } = search;
  const unpacked = readUnpackCommand(name, args);
  if (unpacked !== undefined) search.found ??= findUnpackedFile(unpacked, cwd, targets);
  if (interpreterName.test(name)) {
    const files = args.flatMap((arg) => readText(arg) ?? []);
    const urls = args.flatMap((arg) => listDataUrls(arg));
    inspectCode([...args, ...files, ...urls, ...(readsProgram(args) ? [input ?? ''] : [])], cwd, run, search);
    return;
  }
  const written = words[0]?.includes('/') ? readText(words[0]) : undefined;
  if (written !== undefined) inspectCode([written], cwd, run, search);
  if (name === 'make' || name === 'gmake')
    for (const text of listMakefiles(args, input, readText)) run(readMakefile(text));
  const { found, script } = readContainerCommand([name, ...args], cwd, targets);
  search.found ??= found;
  if (script !== undefined) run(script);
  if (launcherName.test(name)) {
    const lines = name === 'gdb' || input === undefined ? [] : input.split('\n').slice(0, callPathsMax);
    for (const text of [...args, ...lines])
      if (/\s/.test(text)) run(text.replace(/^(EXEC|SYSTEM|[:.!]+)[:!]*/, '').replace(/^(shell|system)\s/, ''));
  }
  const launched = findLaunchedWords(name, args);
  if (launched !== undefined) run(launched.map(quoteWord).join(' '));
}

/** The makefiles that `make` reads from its input, from a file of this script, or from its arguments. */
function listMakefiles(
  args: readonly string[],
  input: string | undefined,
  readText: (path: string) => string | undefined,
): readonly string[] {
  return args.flatMap((arg, at) => {
    const [, option, joined] = /^(-f|-E|--file|--makefile|--eval)=?(.*)$/s.exec(arg) ?? [];
    if (option === undefined) return [];
    const value = joined === '' ? (args[at + 1] ?? '') : joined!;
    if (option === '-E' || option === '--eval') return [value];
    return (value === '-' || value === '/dev/stdin' ? input : readText(value)) ?? [];
  });
}

/** Whether an interpreter reads its program: it has no file and no program among its arguments. */
function readsProgram(args: readonly string[]): boolean {
  return args.every((arg) => arg.startsWith('-') && !/^-\w*[ecpr]$/.test(arg));
}

/** Looks at the literal texts of a program: paths that it writes, commands that it runs, processes that it signals. */
function inspectCode(texts: readonly string[], cwd: string, run: (script: string) => void, search: Search): void {
  const { targets } = search;
  for (const text of texts) {
    if (!/['"`([{%]|\bq/.test(text)) continue;
    if (/\bkill\b/.test(text))
      search.found ??= findSignalledProcess(['kill', '', ...(text.match(/-?\d+/g) ?? [])], targets);
    const { literals, runsPrograms, loads, removes } = readCode(text);
    for (const [at, literal] of literals.entries()) {
      if (!loads || runsPrograms)
        search.found ??= findOwnFile(literal, cwd, targets, removes && literal !== '' && !literal.startsWith('/'));
      if (!runsPrograms && !loads) continue;
      if (isOwnProgram(literal.replace(/^file:\/\//, ''), cwd, targets))
        search.found ??= findOwnCommand([literal.replace(/^file:\/\//, ''), ...literals.slice(at + 1)], cwd, targets);
      else if (runsPrograms && /\s/.test(literal)) run(literal);
      else if (runsPrograms && isLaunchedProgram(literal))
        run(
          literals
            .slice(at, at + launchedWordsMax)
            .map(quoteWord)
            .join(' '),
        );
    }
  }
}

/** The words of a list in a program that are taken as one command. */
const launchedWordsMax = 16;

/** Whether a command prints the names of the files that contain a text. */
function listsMatches(name: string, args: readonly string[]): boolean {
  return /^(grep|egrep|fgrep|rg|ag)$/.test(name) && args.some((arg) => /^(-\w*l|--files-with-matches)$/.test(arg));
}

/** The protected files that contain the text of a search, as far as the text is no pattern. */
function listMatchingFiles(args: readonly string[], cwd: string, targets: OwnTargets): string | undefined {
  const [text = '', ...places] = args.filter((arg) => !arg.startsWith('-'));
  const files = (places.length === 0 ? ['.'] : places).flatMap((place) => listOwnBelow(place, cwd, targets));
  const found = files.filter(({ real }) => containsText(real, text)).map(({ real }) => real);
  return found.length === 0 ? undefined : `${found.join('\n')}\n`;
}
