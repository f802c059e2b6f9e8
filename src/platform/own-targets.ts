/**
 * Recognizes calls with which an agent would change its own guard: commands of Switchgear that decide, and writes to
 * the store, the policy and the hook settings. Programs and files are compared by their real paths, never by words in
 * a text. A program that computes such a path itself is not recognized; only a sandbox prevents that.
 */

import { existsSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isMatch } from '../core/glob.ts';
import { callPathsMax, shellTextMax } from '../core/limits.ts';
import { isShellProgram, listShellCommands, quoteWord, type ShellCommand } from './shell-commands.ts';

export interface OwnTargets {
  /** Files that only a person may change: the store, policies, hook settings. */
  readonly files: readonly string[];
  /** Folders whose whole content is protected. */
  readonly folders: readonly string[];
  /** The program files of this installation. */
  readonly programs: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Commands of Switchgear that only read, or run something under guard. */
const harmlessVerbs = /^(status|tail|rules|prompt|run|demo|doctor|help|--help|-h|--version|-v)$/;
const harmlessSubverbs: Readonly<Record<string, RegExp>> = {
  inbox: /^(list|show)$/,
  policy: /^(check|explain|reference|schema)$/,
  chain: /^(run|resume|list|show|lint|graph)$/,
};

/** Says what a call would change; undefined if it changes nothing of Switchgear. */
export function findOwnTarget(tool: string, input: unknown, targets: OwnTargets): string | undefined {
  const fields = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {};
  const script = typeof input === 'string' ? input : readScript(fields);
  const words = wordsOf(tool);
  const isWriter = words.some((word) => writingWords.has(word)) && !readerName.test(tool);
  const isRemover = words.some((word) => removingWords.includes(word));
  return (
    (script === undefined ? undefined : findInScript(script, targets)) ??
    findInPatches(input, targets) ??
    (isWriter ? findInPaths(fields, targets, isRemover) : undefined)
  );
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

/** The script of a shell call: a text, or the words of a command. */
function readScript(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of ['command', 'cmd', 'script', 'code']) {
    const value = fields[name];
    if (typeof value === 'string') return value;
    if (!Array.isArray(value)) continue;
    const words = value.filter((word): word is string => typeof word === 'string').slice(0, callPathsMax);
    // The last word of `bash -lc SCRIPT` is the script itself.
    return isShellProgram(words[0] ?? '') ? words.at(-1) : words.map((word) => quoteWord(word)).join(' ');
  }
  return undefined;
}

/** The files of patches in the format of `apply_patch`, wherever they stand. */
function findInPatches(input: unknown, targets: OwnTargets): string | undefined {
  const texts = typeof input === 'string' ? [input] : Object.values((input ?? {}) as object).flat();
  for (const text of texts.slice(0, callPathsMax)) {
    if (typeof text !== 'string' || !text.includes('*** ')) continue;
    for (const [, path] of text
      .slice(0, shellTextMax)
      .matchAll(/^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm)) {
      const found = findFile(path!.trim(), targets.cwd, targets, false);
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
  for (const [name, value] of Object.entries(fields).slice(0, callPathsMax)) {
    if (typeof value !== 'string' || !/path|file|source|destination|target|uri|^(from|to|dst|src)$/i.test(name))
      continue;
    const found = findFile(value.replace(/^file:\/\//, ''), targets.cwd, targets, isRecursive);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findInScript(script: string, targets: OwnTargets): string | undefined {
  const { env, cwd } = targets;
  const variables = { HOME: env.HOME, PWD: cwd, CLAUDE_PROJECT_DIR: env.CLAUDE_PROJECT_DIR ?? cwd };
  for (const command of listShellCommands(script, variables)) {
    const found = findInCommand(command, targets);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Programs that only read the files they are given. */
const plainReaders =
  'cat less more head tail tac bat nl strings od column cut jq grep egrep fgrep rg ag diff cmp md5sum sha256sum wc ' +
  'ls stat file du readlink realpath basename dirname which type cd pushd test [ [[ true false echo printf ' +
  'export set read source . for case in return exit';

/** The same, unless one of these options is present. */
const readers: Readonly<Record<string, RegExp | undefined>> = {
  ...Object.fromEntries(plainReaders.split(' ').map((name) => [name, undefined])),
  awk: /^(-i|--include)/,
  tree: /^-o/,
  xxd: /^-r/,
  sed: /^(-\w*i|--in-place)/,
  sort: /^(-o|--output)/,
  yq: /^(-\w*i|--inplace)/,
  find: /^-(delete|exec|execdir|ok|okdir|fprint\w*)$/,
  git: /^(checkout|restore|reset|clean|rm|mv|apply|am|stash|pull|merge|rebase|switch|config)$/,
};

/** Programs whose patterns are looked at; a pattern of another program names too many files. */
const writers = /^(rm|mv|cp|sed|perl|tee|shred|truncate|unlink|install|ln|rsync)$/;

function findInCommand({ words, writes, folder }: ShellCommand, targets: OwnTargets): string | undefined {
  const cwd = resolve(targets.cwd, expandHome(folder || '.', targets));
  for (const path of writes) {
    const found = findFile(path, cwd, targets, false);
    if (found !== undefined) return found;
  }
  const own = findOwnCommand(words, cwd, targets);
  if (own !== undefined) return own;
  const [program = '', ...args] = words;
  const name = basename(program);
  if (isShellProgram(name) || isOwnProgram(program, cwd, targets)) return undefined;
  const reader = Object.hasOwn(readers, name);
  if (reader && !(readers[name] !== undefined && args.some((arg) => readers[name]!.test(arg)))) return undefined;
  // A copy reads its sources.
  const isCopy = name === 'cp' || name === 'rsync' || name === 'scp';
  const named = isCopy && !args.some((arg) => /^(-t|--target)/.test(arg)) ? args.slice(-1) : args;
  const destination = name === 'mv' ? args.findLastIndex((arg) => !arg.startsWith('-')) : -1;
  for (const [at, word] of named.slice(0, callPathsMax).entries()) {
    const path = word.replace(/^(-\w|--?[\w-]+=|of=|if=)(?=[./~\w])/, (option) =>
      /=$|^-o$/.test(option) ? '' : option,
    );
    if (/[*?[{]/.test(path) && !writers.test(name)) continue;
    // What lies in the folder that something is moved into stays there.
    const isRecursive = /^(rm|mv|rmdir|shred)$/.test(name) && at !== destination;
    const found = findFile(path, cwd, targets, isRecursive);
    if (found !== undefined) return found;
  }
  return isCopy || name === 'mv' ? findCopiedInto(args, cwd, targets) : undefined;
}

/** A copy or move into a folder writes the names of its sources. */
function findCopiedInto(args: readonly string[], cwd: string, targets: OwnTargets): string | undefined {
  const paths = args.filter((arg) => !arg.startsWith('-'));
  const folder = paths.at(-1) ?? '';
  for (const source of paths.slice(0, -1)) {
    const found = findFile(join(folder, basename(source)), cwd, targets, false);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A command of Switchgear that decides, or takes hooks out; also through a package runner or Node. */
function findOwnCommand(words: readonly string[], cwd: string, targets: OwnTargets): string | undefined {
  const args = findOwnArguments(words, cwd, targets);
  if (args === undefined) return undefined;
  // Only in this order: the value of an option could be any word.
  const [verb = 'help', subverb = ''] = args;
  if (harmlessVerbs.test(verb) || harmlessSubverbs[verb]?.test(subverb)) return undefined;
  if (args.some((arg) => arg === '--help' || arg === '-h')) return undefined;
  if (Object.hasOwn(harmlessSubverbs, verb) && subverb === '') return undefined;
  return `the command switchgear ${verb}`;
}

function findOwnArguments(words: readonly string[], cwd: string, targets: OwnTargets): readonly string[] | undefined {
  const [program = '', ...args] = words;
  if (isOwnProgram(program, cwd, targets)) return args;
  const name = basename(program);
  const rest = args.slice(args.findIndex((arg) => !arg.startsWith('-')));
  if (/^(node|nodejs|bun|deno|tsx|ts-node)$/.test(name)) {
    const at = args.findIndex((arg) => isOwnProgram(arg.includes('/') ? arg : `./${arg}`, cwd, targets));
    return at === -1 ? undefined : args.slice(at + 1);
  }
  if (!/^(npx|bunx|pnpx|npm|pnpm|yarn|bun)$/.test(name)) return undefined;
  const at = rest.findIndex((arg) => !/^(exec|x|dlx|run|--?[\w-]+)$/.test(arg));
  return /^switchgear(@|$)/.test(rest[at] ?? '') ? rest.slice(at + 1).filter((arg) => arg !== '--') : undefined;
}

function isOwnProgram(program: string, cwd: string, { programs, env }: OwnTargets): boolean {
  if (program.includes('/')) return isOwnFile(realPath(resolve(cwd, program)), programs);
  if (program === '' || /[^\w.-]/.test(program)) return false;
  for (const folder of (env.PATH ?? '').split(':').slice(0, callPathsMax)) {
    const path = join(folder || '.', program);
    if (folder !== '' && existsSync(path)) return isOwnFile(realPath(path), programs);
  }
  return program === 'switchgear'; // The path of the agent's shell may differ from that of the hook.
}

/** Whether a file is a program of this or another installation. */
function isOwnFile(path: string, programs: readonly string[]): boolean {
  if (programs.includes(path)) return true;
  if (!/^switchgear(\.[cm]?js)?$/.test(basename(path))) return false;
  try {
    const { name } = JSON.parse(readFileSync(join(dirname(path), '..', 'package.json'), 'utf8')) as { name?: unknown };
    return name === 'switchgear';
  } catch {
    return false;
  }
}

/** Names the protected file that a path is, or that lies in the folder that a path is. */
function findFile(path: string, cwd: string, targets: OwnTargets, isRecursive: boolean): string | undefined {
  if (path === '' || path.length > 4_096 || path.includes('\0')) return undefined;
  const absolute = resolve(cwd, expandHome(path, targets));
  const real = realPath(absolute);
  const inside = real.endsWith('/') ? real : `${real}/`;
  const hasLinks = isLinked(real);
  const { files, folders } = realTargets(targets);
  for (const [file, own] of files) {
    if (real === own || (hasLinks && isSameFile(real, own)) || isGlobMatch(real, own)) return file;
    if (isRecursive && own.startsWith(inside) && existsSync(own)) return file;
  }
  for (const [folder, own] of folders) {
    if (real === own || real.startsWith(`${own}/`)) return folder;
    if (isRecursive && own.startsWith(inside)) return folder;
  }
  return undefined;
}

/** A path as it is written, and its real path. */
type RealTarget = readonly [path: string, real: string];

const resolvedTargets = new WeakMap<OwnTargets, { files: readonly RealTarget[]; folders: readonly RealTarget[] }>();

/** The real paths of the targets, read once for a call: a command may have thousands of words. */
function realTargets(targets: OwnTargets): { files: readonly RealTarget[]; folders: readonly RealTarget[] } {
  let resolved = resolvedTargets.get(targets);
  if (resolved === undefined) {
    const resolveAll = (paths: readonly string[]) => paths.map((path) => [path, realPath(path)] as const);
    resolved = { files: resolveAll(targets.files), folders: resolveAll(targets.folders) };
    resolvedTargets.set(targets, resolved);
  }
  return resolved;
}

function isLinked(path: string): boolean {
  try {
    return (statSync(path, { throwIfNoEntry: false })?.nlink ?? 0) > 1;
  } catch {
    return false;
  }
}

/** Whether a path matches a pattern of a shell; a star does not cross folders. */
function isGlobMatch(pattern: string, path: string): boolean {
  const patterns = pattern.split('/');
  const parts = path.split('/');
  // A star, a question mark and a set each stand for any characters here.
  const simplify = (part: string) => part.replaceAll(/\[[^\]]*\]|\{[^}]*\}|\?/g, '*');
  return patterns.length === parts.length && patterns.every((part, at) => isMatch(simplify(part), parts[at]!));
}

function expandHome(path: string, { env }: OwnTargets): string {
  return path.replace(/^~(?=\/|$)/, env.HOME ?? '~');
}

/** The path without symbolic links, as far as it exists. */
function realPath(path: string): string {
  let known = path;
  let rest = '';
  for (let step = 0; step < callPathsMax; step++) {
    try {
      return join(realpathSync(known), rest);
    } catch {
      const target = readLink(known); // A link to a file that does not exist yet.
      const parent = dirname(known);
      if (target === undefined && parent === known) return path;
      if (target === undefined) rest = join(basename(known), rest);
      known = target ?? parent;
    }
  }
  return path;
}

function readLink(path: string): string | undefined {
  try {
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return undefined;
  }
}

/** Whether two paths are hard links of one file. */
function isSameFile(path: string, other: string): boolean {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.nlink < 2 || stats.isDirectory()) return false;
    const otherStats = statSync(other, { throwIfNoEntry: false });
    return otherStats?.ino === stats.ino && otherStats.dev === stats.dev;
  } catch {
    return false;
  }
}
