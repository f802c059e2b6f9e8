/**
 * Identifies the program that a command runs: its real path and the digest of its content, and those of the scripts
 * among its arguments.
 */

import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { delimiter, join, resolve, sep } from 'node:path';
import { getOrCreate } from '../../core/bounded.ts';
import { digestedBytesMax, digestedFilesMax } from '../../core/limits.ts';
import type { Environment } from './child-process.ts';

/** A file that a command runs. */
export interface FileIdentity {
  readonly path: string;
  /** The digest of the content; for a program of the system its size and time of change. */
  readonly digest: string;
}

/** A command as an approval is bound to it. */
export interface CommandIdentity {
  readonly cwd: string;
  readonly program: FileIdentity;
  /** Programs and scripts among the arguments. */
  readonly files: readonly FileIdentity[];
}

/** Names of scripts, which need no permission to be executed. */
const scriptName = /\.(?:[cm]?[jt]s|py|rb|pl|php|lua|ps1|bat|cmd|jar|wasm|r|tcl|(?:ba|z|k|fi|c)?sh)$/i;

/** Identifies a program with its arguments; `words` are further words that may name files, as in a line of a shell. */
export function identifyCommand(
  file: string,
  words: readonly string[],
  cwd: string,
  { PATH = '' }: Environment,
): CommandIdentity {
  const folder = realPath(cwd);
  return { cwd: folder, program: identifyProgram(file, folder, PATH), files: identifyFiles(words, folder) };
}

/** Splits a line of a shell into words that may name files. */
export function splitShellWords(line: string): readonly string[] {
  return line.split(/[\s"'`;&|<>()=$,:]+/).filter((word) => word !== '');
}

function identifyProgram(file: string, folder: string, path: string): FileIdentity {
  if (file.includes(sep)) return identifyFile(resolve(folder, file));
  for (const place of path.split(delimiter)) {
    const found = join(resolve(folder, place), file);
    if (isFile(found)) return identifyFile(found);
  }
  return { path: file, digest: '' };
}

function identifyFiles(words: readonly string[], folder: string): readonly FileIdentity[] {
  const found = new Map<string, FileIdentity>();
  for (const word of words.flatMap((each) => [each, ...each.split('=').slice(1)])) {
    if (found.size >= digestedFilesMax) break;
    const path = word.length > 4_096 || word.includes('\0') ? '' : resolve(folder, word);
    if (word === '' || path === '' || found.has(path) || !isProgram(path)) continue;
    found.set(path, identifyFile(path));
  }
  return [...found.values()];
}

/** Whether a file can be run: by its permissions, or by its name. */
function isProgram(path: string): boolean {
  try {
    const stats = statSync(path);
    return stats.isFile() && ((stats.mode & 0o111) !== 0 || scriptName.test(path));
  } catch {
    return false;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Folders of programs that the system installs. */
const systemFolder = /^\/(?:bin|sbin|lib\w*|usr\/(?:s?bin|lib\w*|share)|nix\/store|System)\//;

function identifyFile(path: string): FileIdentity {
  const real = realPath(path);
  return { path: real, digest: systemFolder.test(real) ? versionOf(real) : digestFile(real) };
}

/** The size and time of change of a file; equal while nobody replaces or edits it. */
function versionOf(path: string): string {
  try {
    const { size, mtimeMs, ctimeMs, ino } = statSync(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return '';
  }
}

/** The path without links; the path itself if it does not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Digests of files by path and version: an interpreter of 100 MB is read once. */
const knownDigests = new Map<string, string>();

function digestFile(path: string): string {
  const key = `${path}\0${versionOf(path)}`;
  return getOrCreate(knownDigests, key, digestedFilesMax, () => readDigest(path));
}

/** The digest of the beginning of a file, its size, and beyond the beginning its time of change. */
function readDigest(path: string): string {
  const hash = createHash('sha256');
  let file: number | undefined;
  try {
    const { size, mtimeMs } = statSync(path);
    file = openSync(path, 'r');
    const chunk = Buffer.alloc(1_048_576);
    let left = digestedBytesMax;
    for (let bytes = readSync(file, chunk); bytes > 0 && left > 0; bytes = readSync(file, chunk)) {
      hash.update(chunk.subarray(0, bytes));
      left -= bytes;
    }
    if (size > digestedBytesMax) hash.update(`${size} ${mtimeMs}`);
  } catch (error) {
    hash.update(`unreadable ${(error as NodeJS.ErrnoException).code}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return hash.digest('hex');
}
