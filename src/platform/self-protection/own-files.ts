/** Compares paths with the files and folders of Switchgear that only a person may change: by real path and inode. */

import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isMatch } from '../../core/glob.ts';
import { callPathsMax } from '../../core/limits.ts';
import { readRegularFile } from '../regular-file.ts';
import { listArchiveNames, type UnpackedArchive } from './archive-names.ts';

export interface OwnTargets {
  /** Files that only a person may change: the store, policies, hook settings. */
  readonly files: readonly string[];
  /** Folders whose whole content is protected. */
  readonly folders: readonly string[];
  /** Folders with code of this installation: nothing may be written into them. To delete a folder above is harmless. */
  readonly code?: readonly string[];
  /** The program files of this installation. */
  readonly programs: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Lists the processes of Switchgear that the agent did not start; called only for a command that signals. */
  listProcesses?(): readonly OwnProcess[];
}

/** A process of Switchgear that guards an agent: the supervisor of a run, or its watchdog. */
export interface OwnProcess {
  readonly pid: number;
  readonly group: number;
  /** The names that the system knows the process by. */
  readonly names: readonly string[];
  /** The command line, with spaces between its words. */
  readonly line: string;
}

/** A protected path as it is written, its real path, and its inode if it exists. */
export interface OwnPath {
  readonly path: string;
  readonly real: string;
  readonly inode: string | undefined;
}

interface OwnPaths {
  readonly files: readonly OwnPath[];
  readonly folders: readonly OwnPath[];
  readonly code: readonly OwnPath[];
}

const resolvedTargets = new WeakMap<OwnTargets, OwnPaths>();

/** The real paths of the targets, read once for a call: a command may have thousands of words. */
function ownPathsOf(targets: OwnTargets): OwnPaths {
  let resolved = resolvedTargets.get(targets);
  if (resolved === undefined) {
    const describe = (path: string): OwnPath => {
      const real = resolveRealPath(path);
      return { path, real, inode: inodeOf(real) };
    };
    resolved = {
      files: [...new Set(targets.files)].map(describe),
      folders: [...new Set(targets.folders)].map(describe),
      code: [...new Set(targets.code)].map(describe),
    };
    resolvedTargets.set(targets, resolved);
  }
  return resolved;
}

/** Names the protected file that a path is; with `isRecursive`, also one inside the folder that a path is. */
export function findOwnFile(path: string, cwd: string, targets: OwnTargets, isRecursive: boolean): string | undefined {
  if (path === '' || path.length > pathLengthMax || path.includes('\0')) return undefined;
  const real = resolveRealPath(resolve(cwd, expandHome(path, targets)));
  const inside = real.endsWith('/') ? real : `${real}/`;
  const inode = inodeOf(real);
  const isPattern = /[*?[{]/.test(real);
  const { files, folders, code } = ownPathsOf(targets);
  for (const own of code) if (real === own.real || real.startsWith(`${own.real}/`)) return own.path;
  for (const own of files) {
    if (real === own.real || (inode !== undefined && inode === own.inode)) return own.path;
    if (isPattern && isGlobMatch(real, own.real, isRecursive)) return own.path;
    if (isRecursive && own.inode !== undefined && own.real.startsWith(inside)) return own.path;
  }
  for (const own of folders) {
    if (real === own.real || real.startsWith(`${own.real}/`)) return own.path;
    if (inode !== undefined && inode === own.inode) return own.path;
    if (isPattern && isGlobMatch(real, own.real, isRecursive)) return own.path;
    if (isRecursive && own.inode !== undefined && own.real.startsWith(inside)) return own.path;
  }
  return undefined;
}

/** The longest path of the system. */
export const pathLengthMax = 4_096;

/** Names the protected file that a copy or move of sources into a folder would write. */
export function findCopiedFile(
  sources: readonly string[],
  destination: string,
  cwd: string,
  targets: OwnTargets,
): string | undefined {
  const folder = resolveRealPath(resolve(cwd, expandHome(destination, targets)));
  const { files, folders } = ownPathsOf(targets);
  for (const own of [...files, ...folders]) {
    const inner = relative(folder, own.real);
    if (inner === '' || inner.startsWith('..')) continue;
    const [first = '', ...rest] = inner.split('/');
    for (const source of sources) {
      // A source on another machine has the same last name.
      const path = resolve(cwd, expandHome(source.replace(/^[\w.@-]+:(?!\/\/)/, ''), targets));
      // `folder/.` and, for rsync, `folder/` stand for the content of the folder.
      if (/\/\.?$|^\.$/.test(source) && existsSync(join(path, inner))) return own.path;
      const name = basename(path);
      if (!isMatch(simplifyPattern(name), first)) continue;
      const isNamed = name === first && rest.length === 0;
      if (isNamed || existsSync(join(dirname(path), first, ...rest))) return own.path;
    }
  }
  return undefined;
}

/** Names what a container could change in a folder that is the folder of hook settings, or above our state. */
export function findOwnParent(path: string, cwd: string, targets: OwnTargets): string | undefined {
  const real = resolveRealPath(resolve(cwd, expandHome(path, targets)));
  const inside = real.endsWith('/') ? real : `${real}/`;
  const { files, folders } = ownPathsOf(targets);
  const isSettingsFolder = basename(real).startsWith('.');
  const settings = files.find((own) => isSettingsFolder && own.inode !== undefined && dirname(own.real) === real);
  return (settings ?? folders.find((own) => own.inode !== undefined && own.real.startsWith(inside)))?.path;
}

/** Names the protected file that is among the names of an archive which is unpacked into a folder. */
export function findUnpackedFile(
  { archive, folder, stripped }: UnpackedArchive,
  cwd: string,
  targets: OwnTargets,
): string | undefined {
  const root = resolveRealPath(resolve(cwd, expandHome(folder, targets)));
  const { files, folders } = ownPathsOf(targets);
  const below = [...files, ...folders].flatMap((own) => {
    const inner = relative(root, own.real);
    return inner === '' || inner.startsWith('..') ? [] : [{ own, inner }];
  });
  if (below.length === 0) return undefined;
  const names = listArchiveNames(resolve(cwd, expandHome(archive, targets))) ?? [];
  for (const name of names) {
    const plain = join('/', name).slice(1).split('/').slice(stripped).join('/').replace(/\/$/, '');
    const found = below.find(({ inner }) => plain === inner || plain.startsWith(`${inner}/`));
    if (found !== undefined) return found.own.path;
  }
  return undefined;
}

/** The protected files that lie in a folder and exist. */
export function listOwnBelow(folder: string, cwd: string, targets: OwnTargets): readonly OwnPath[] {
  const real = resolveRealPath(resolve(cwd, expandHome(folder, targets)));
  const inside = real.endsWith('/') ? real : `${real}/`;
  const { files, folders } = ownPathsOf(targets);
  return [...files, ...folders].filter((own) => own.inode !== undefined && own.real.startsWith(inside));
}

/** Whether a small file contains a text. */
export function containsText(path: string, text: string): boolean {
  return readRegularFile(path, searchedBytesMax)?.includes(text) ?? false;
}

/** The largest file that is searched. */
export const searchedBytesMax = 262_144;

/** Whether a path matches a pattern of a shell; only two stars cross folders. */
function isGlobMatch(pattern: string, path: string, isPrefix: boolean): boolean {
  const parts = path.split('/');
  // The numbers of parts that the patterns so far can stand for.
  let reached = new Set([0]);
  for (const each of pattern.split('/')) {
    const next = new Set<number>();
    for (const at of reached) {
      if (each === '**') for (let end = at; end <= parts.length; end++) next.add(end);
      else if (at < parts.length && isPartMatch(each, parts[at]!)) next.add(at + 1);
    }
    reached = next;
    if (reached.size === 0) return false;
  }
  // The content of a folder that matches goes with it.
  return isPrefix || reached.has(parts.length);
}

function isPartMatch(pattern: string, part: string): boolean {
  // A star does not stand for a dot at the beginning.
  if (part.startsWith('.') && /^[*?[]/.test(pattern)) return false;
  return isMatch(simplifyPattern(pattern), part);
}

/** A question mark, a set and braces each stand for any characters here. */
export function simplifyPattern(pattern: string): string {
  return pattern.replaceAll(/\[[^\]]*\]|\{[^}]*\}|\?/g, '*');
}

function expandHome(path: string, { env, cwd }: OwnTargets): string {
  const [, user, rest] = /^~([\w.+-]*)(\/.*)?$/s.exec(path) ?? [];
  if (user === undefined) return path;
  const isOwnHome = user === '' || user === (env.USER ?? env.LOGNAME);
  const home = isOwnHome ? env.HOME : user === '+' ? cwd : undefined;
  return home === undefined ? path : home + (rest ?? '');
}

/** The path without symbolic links, as far as it exists. */
export function resolveRealPath(path: string): string {
  let known = path;
  let rest = '';
  for (let step = 0; step < callPathsMax; step++) {
    if (isExisting(known)) return join(resolveLinks(known), rest);
    const target = readLink(known); // A link to a file that does not exist yet.
    const parent = dirname(known);
    if (target === undefined && parent === known) return path;
    if (target === undefined) rest = join(basename(known), rest);
    known = target ?? parent;
  }
  return path;
}

function isExisting(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function readLink(path: string): string | undefined {
  try {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return undefined;
  }
}

/** The inode of a file: equal for hard links, bind mounts, and other spellings where letters do not differ by case. */
function inodeOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
  } catch {
    return undefined;
  }
}
