/** Recognizes commands of Switchgear that decide or take hooks out, also through a package runner or an interpreter. */

import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { callPathsMax } from '../../core/limits.ts';
import { readRegularFile } from '../regular-file.ts';
import { quoteWord } from '../shell-programs.ts';
import { type OwnTargets, resolveRealPath, searchedBytesMax } from './own-files.ts';

/** Commands of Switchgear that only read, stop, or run something under guard. */
const harmlessVerbs = /^(halt|status|tail|rules|prompt|run|demo|doctor|help|--help|-h|--version|-v)$/;
const harmlessSubverbs: Readonly<Record<string, RegExp>> = {
  inbox: /^(list|show)$/,
  policy: /^(check|explain|reference|schema)$/,
  chain: /^(run|resume|list|show|lint|graph)$/,
};

/** Describes the command of Switchgear that the words run, if it decides. */
export function findOwnCommand(words: readonly string[], cwd: string, targets: OwnTargets): string | undefined {
  const args = findOwnArguments(words, cwd, targets);
  if (args === undefined) return undefined;
  // Only in this order: the value of an option could be any word.
  const [verb = 'help', subverb = ''] = args;
  if (harmlessVerbs.test(verb) || harmlessSubverbs[verb]?.test(subverb)) return undefined;
  if (args.some((arg) => arg === '--help' || arg === '-h')) return undefined;
  if (Object.hasOwn(harmlessSubverbs, verb) && subverb === '') return undefined;
  return `the command switchgear ${verb}`;
}

/** Programs that read or print their words. */
const wordReaders = /^(echo|printf|grep|egrep|fgrep|rg|ag|git|gh|man|which|type|cat|ls|test|\[|\[\[|jq|less|export)$/;

/** Describes a command that an unknown program before it may launch, such as `chroot` or `systemd-run`. */
export function findLaunchedCommand(words: readonly string[], cwd: string, targets: OwnTargets): string | undefined {
  if (wordReaders.test(basename(words[0] ?? ''))) return undefined;
  for (let at = 1; at < words.length - 1; at++) {
    const [program = '', verb = '', subverb = ''] = words.slice(at, at + 3);
    const isDecision = decisions[verb]?.test(subverb) === true;
    if (isDecision && isOwnProgram(program, cwd, targets)) return `the command switchgear ${verb}`;
  }
  return undefined;
}

/** Programs whose words an unknown program before them may run. */
const launchedNames =
  'rm mv cp ln tee dd sed truncate shred install chmod git find xargs env sudo pkill killall kill perl ruby node ' +
  'python python3 bash sh zsh dash ksh fish';
const launchedName = new RegExp(`^(${launchedNames.replaceAll(' ', '|')})$`);
/** Programs that do not launch their words, beside those that read them. */
const plainNames =
  'rm mv cp ln tee dd sed awk install chmod chown touch mkdir apt apt-get apk brew dnf yum pip pip3 npm docker ' +
  'podman kill pkill killall curl wget tar zip unzip cat head tail diff code make cd for set cargo go';
const plainName = new RegExp(`^(${plainNames.replaceAll(' ', '|')})$`);

export function isLaunchedProgram(word: string): boolean {
  return launchedName.test(basename(word));
}

/** The command among the words of an unknown program that the program may launch, such as `firejail` or `uv run`. */
export function findLaunchedWords(name: string, args: readonly string[]): readonly string[] | undefined {
  if (wordReaders.test(name) || plainName.test(name)) return undefined;
  const at = args.findIndex(isLaunchedProgram);
  return at === -1 || at === args.length - 1 ? undefined : args.slice(at);
}

/** The commands that decide, with the words that follow. */
const decisions: Readonly<Record<string, RegExp | undefined>> = {
  inbox: /^(approve|decline|retry|narrow|pause|dismiss|standing)$/,
  policy: /^trust$/,
  chain: /^(cancel|resolve)$/,
  reset: /./,
  resume: /./,
  release: /./,
  serve: /^/,
  gateway: /^key$/,
  init: /^(claude-code|codex|gemini)$/,
};

const interpreterName = /^(node|nodejs|bun|deno|tsx|ts-node)$/;
const runnerName = /^(npx|bunx|pnpx|npm|pnpm|yarn|bun|deno|corepack)$/;

/** Verbs and options of package runners before the package. */
const runnerWord = /^(exec|x|dlx|run|npm|pnpm|yarn|--|--?[\w-]+(=.*)?)$/;

function findOwnArguments(words: readonly string[], cwd: string, targets: OwnTargets): readonly string[] | undefined {
  const [program = '', ...args] = words;
  if (isOwnProgram(program, cwd, targets)) return args;
  const name = basename(program);
  if (interpreterName.test(name)) {
    const at = args.findIndex((arg) => isOwnProgram(arg.includes('/') ? arg : `./${arg}`, cwd, targets));
    if (at !== -1) return args.slice(at + 1);
  }
  if (!runnerName.test(name)) return undefined;
  const at = findPackage(args);
  const [found = '', ...rest] = args.slice(at);
  const isOwn = at !== -1 && (isOwnPackage(found) || (found.includes('/') && isOwnProgram(found, cwd, targets)));
  return isOwn ? rest.filter((arg) => arg !== '--') : undefined;
}

function isOwnPackage(name: string): boolean {
  return /^(npm:|jsr:)?switchgear(@[^/]*)?$/.test(name);
}

/** The place of the package or program among the words of a package runner. */
function findPackage(args: readonly string[]): number {
  let at = 0;
  while (at < args.length && runnerWord.test(args[at]!))
    at += /^(-p|--package|--prefix|-C|--dir|--cwd)$/.test(args[at]!) ? 2 : 1;
  return at < args.length ? at : -1;
}

/** The script that a package runner runs: `npx -c SCRIPT`, `npx PROGRAM ARGS`, `pnpm exec PROGRAM ARGS`. */
export function findRunnerScript([program = '', ...args]: readonly string[]): string | undefined {
  const name = basename(program);
  if (!runnerName.test(name)) return undefined;
  const at = args.findIndex((arg) => arg === '-c' || arg === '--call' || arg === '--shell-mode');
  if (at !== -1) return args.slice(at + 1).join(' ');
  const joined = args.find((arg) => arg.startsWith('--call='));
  if (joined !== undefined) return joined.slice('--call='.length);
  const place = findPackage(args);
  const isRunner = /^(npx|bunx|pnpx)$/.test(name) || args.slice(0, place).some((arg) => /^(exec|x|dlx)$/.test(arg));
  return isRunner && place !== -1 ? args.slice(place).map(quoteWord).join(' ') : undefined;
}

const knownPrograms = new WeakMap<OwnTargets, Map<string, boolean>>();

/** Whether a word names a program of this or another installation; looked up once for a call. */
export function isOwnProgram(program: string, cwd: string, targets: OwnTargets): boolean {
  const known = knownPrograms.get(targets) ?? new Map<string, boolean>();
  knownPrograms.set(targets, known);
  const key = program.includes('/') ? resolve(cwd, program) : program;
  const isOwn = known.get(key) ?? lookUpProgram(program, cwd, targets);
  known.set(key, isOwn);
  return isOwn;
}

function lookUpProgram(program: string, cwd: string, { programs, env }: OwnTargets): boolean {
  if (program.includes('/')) return isOwnProgramFile(resolveRealPath(resolve(cwd, program)), programs);
  if (program === '' || /[^\w.-]/.test(program)) return false;
  for (const folder of (env.PATH ?? '').split(':').slice(0, callPathsMax)) {
    const path = join(folder || '.', program);
    if (folder !== '' && existsSync(path)) return isOwnProgramFile(resolveRealPath(path), programs);
  }
  return program === 'switchgear'; // The path of the agent's shell may differ from that of the hook.
}

/** The program of a package, and the files of its command, which Node can run directly. */
const programPath = /(?:^|\/)(?:switchgear(?:\.[cm]?js)?|(?:dist|src)\/cli\/[\w-]+\.[cm]?[jt]s)$/;

function isOwnProgramFile(path: string, programs: readonly string[]): boolean {
  if (programs.includes(path) || programs.some((program) => isCopyOf(path, program))) return true;
  // A file that is missing now may be cloned or unpacked by the same call.
  if (/\/bin\/switchgear\.cjs$/.test(path) && !existsSync(path)) return true;
  return programPath.test(path) && isInPackage(path);
}

/** Whether a package with the name of Switchgear is in one of the folders above a file. */
function isInPackage(path: string): boolean {
  let folder = dirname(path);
  for (let step = 0; step < packageDepthMax; step++) {
    folder = dirname(folder);
    try {
      const text = readRegularFile(join(folder, 'package.json'), searchedBytesMax);
      if (text === undefined) continue;
      return (JSON.parse(String(text)) as { name?: unknown }).name === 'switchgear';
    } catch {
      return false;
    }
  }
  return false;
}

/** The folders between a program file and its package. */
const packageDepthMax = 3;

/** Whether a file has the content of a program of this installation, or of a file of its command. */
function isCopyOf(path: string, program: string): boolean {
  const root = dirname(dirname(program));
  const files = [
    program,
    ...['main.js', 'hook.cjs', 'main.ts'].map((name) => join(root, name.endsWith('ts') ? 'src' : 'dist', 'cli', name)),
  ];
  const size = sizeOf(path);
  if (size === undefined || size > searchedBytesMax * 4) return false;
  return files.some((file) => {
    if (file === path || sizeOf(file) !== size) return false;
    const [one, other] = [path, file].map((each) => readRegularFile(each, size));
    return one !== undefined && other !== undefined && one.equals(other);
  });
}

function sizeOf(path: string): number | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() ? stats.size : undefined;
  } catch {
    return undefined;
  }
}
