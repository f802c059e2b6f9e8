/**
 * Recognizes calls with which an agent would change its own guard: commands of Switchgear that decide, and writes to
 * the store, the policy and the hook settings. Programs and files are compared by their real paths, never by words in
 * a text. A program that computes such a path itself is not recognized; only a sandbox prevents that.
 */

import { basename } from 'node:path';
import { callPathsMax, shellCommandsMax, shellTextMax } from '../../core/limits.ts';
import { visitShellCommands } from '../shell-commands.ts';
import { isShellProgram, quoteWord } from '../shell-programs.ts';
import type { ShellCommand } from '../shell-reading.ts';
import { readFindCommand } from './find-writes.ts';
import { findGitWrite } from './git-writes.ts';
import { findLaunchedCommand, findOwnCommand, findRunnerScript, isOwnProgram } from './own-commands.ts';
import { containsText, findCopiedFile, findOwnFile, listOwnBelow, type OwnTargets } from './own-files.ts';
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
  const search: Search = { targets, found: undefined };
  const isComplete = visitShellCommands(script, { cwd, variables }, (command) => inspect(command, search));
  return search.found ?? (isComplete ? undefined : tooLong(`more than ${shellCommandsMax} commands or values`));
}

function findInCode(code: string, targets: OwnTargets): string | undefined {
  const search: Search = { targets, found: undefined };
  const run = (script: string) => {
    search.found ??= findInScript(script, targets);
  };
  inspectCode([code], targets.cwd, run, search);
  return search.found;
}

/** A search in one script: it ends with the first protected target. */
interface Search {
  readonly targets: OwnTargets;
  found: string | undefined;
}

/** Looks at one command; returns its output if that is known. */
function inspect(command: ShellCommand, search: Search): string | undefined {
  let output: string | undefined;
  for (const folder of command.folders) {
    if (search.found !== undefined) return undefined;
    const inspected = inspectIn(folder, command, search);
    output ??= inspected;
  }
  return output;
}

function inspectIn(cwd: string, { words, writes, input, run }: ShellCommand, search: Search): string | undefined {
  const { targets } = search;
  if (words.length + writes.length > callPathsMax) {
    search.found = tooLong(`${words.length} words`);
    return undefined;
  }
  const check = (path: string, isRecursive: boolean) => {
    search.found ??= findOwnFile(path, cwd, targets, isRecursive);
  };
  for (const path of writes) check(path, false);
  const [program = '', ...args] = words;
  const name = basename(program);
  search.found ??= findOwnCommand(words, cwd, targets) ?? findLaunchedCommand(words, cwd, targets);
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
  if (name === 'git') search.found ??= findGitWrite(args, cwd, targets);
  if (interpreterName.test(name))
    inspectCode([...args, ...(readsProgram(args) ? [input ?? ''] : [])], cwd, run, search);
  if (name === 'git' && !/^(apply|am)$/.test(args[0] ?? '')) return undefined;
  const { paths, copies, scripts } = listWrites(words, input);
  for (const { path, isRecursive } of paths) check(path, isRecursive);
  for (const { sources, destination } of copies) search.found ??= findCopiedFile(sources, destination, cwd, targets);
  for (const script of scripts) run(script);
  if (launcherName.test(name))
    for (const text of args) if (/\s/.test(text)) run(text.replace(/^(EXEC|SYSTEM|[:.!]+)[:!]*/, ''));
  return undefined;
}

/** Programs that run a text among their arguments. */
const launcherName = /^(tmux|screen|byobu|zellij|expect|socat|vi|vim|nvim|ex|emacs|sqlite3|su|runuser|machinectl|gdb)$/;

const interpreterName =
  /^(node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|pypy\d?|perl|ruby|php|lua|osascript|Rscript|tclsh)$/;

/** Whether an interpreter reads its program: it has no file and no program among its arguments. */
function readsProgram(args: readonly string[]): boolean {
  return args.every((arg) => arg.startsWith('-') && !/^-\w*[ecpr]$/.test(arg));
}

/** Looks at the literal texts of a program: paths that it writes, and commands that it runs. */
function inspectCode(texts: readonly string[], cwd: string, run: (script: string) => void, search: Search): void {
  const { targets } = search;
  for (const text of texts) {
    if (!/['"`(]/.test(text)) continue;
    const { literals, runsPrograms, removes } = readCode(text);
    for (const [at, literal] of literals.entries()) {
      search.found ??= findOwnFile(literal, cwd, targets, removes && literal !== '' && !literal.startsWith('/'));
      if (!runsPrograms) continue;
      if (isOwnProgram(literal, cwd, targets)) search.found ??= findOwnCommand(literals.slice(at), cwd, targets);
      else if (/\s/.test(literal)) run(literal);
    }
  }
}

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
