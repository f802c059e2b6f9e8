/**
 * Changes the settings file of another program: prints the difference, replaces the file atomically, keeps a backup.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import { stateFolder } from '../../platform/state-folder.ts';
import type { Terminal } from '../command.ts';
import { describeSystemError, isSystemError } from '../process-terminal.ts';

/** Prints the removed and added lines, without the common beginning and end. */
export function printDiff(path: string, before: string, after: string, { out }: Terminal): void {
  const previous = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  const current = after === '' ? [] : after.replace(/\n$/, '').split('\n');
  let head = 0;
  while (head < Math.min(previous.length, current.length) && previous[head] === current[head]) head++;
  let tail = 0;
  const maxTail = Math.min(previous.length, current.length) - head;
  while (tail < maxTail && previous[previous.length - 1 - tail] === current[current.length - 1 - tail]) tail++;
  out(path);
  for (const line of previous.slice(head, previous.length - tail)) out(`- ${line}`);
  for (const line of current.slice(head, current.length - tail)) out(`+ ${line}`);
}

/** What `init` changes in a settings file; each has a backup of its own. */
export type ChangedPart = 'hooks' | 'mcp' | 'gateway';

/** The contents of a settings file before and after `init` changed it; `before` is null if there was no file. */
export interface SettingsBackup {
  readonly before: string | null;
  readonly after: string;
  /** The file of the settings. */
  readonly path?: string;
}

function backupFolder({ env }: Terminal): string {
  return join(stateFolder(env), 'init');
}

function backupPath(path: string, terminal: Terminal, part: ChangedPart): string {
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 16);
  return join(backupFolder(terminal), `${digest}${part === 'hooks' ? '' : `-${part}`}.json`);
}

export function readBackup(path: string, terminal: Terminal, part: ChangedPart = 'hooks'): SettingsBackup | undefined {
  return readBackupFile(backupPath(path, terminal, part));
}

function readBackupFile(file: string): SettingsBackup | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as SettingsBackup;
  } catch {
    return undefined; // Without a backup only what `init` added is removed.
  }
}

/** Lists the files that `init` has changed and that were not restored. */
export function listChangedFiles(terminal: Terminal): readonly string[] {
  const folder = backupFolder(terminal);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => readBackupFile(join(folder, name))?.path ?? []);
}

/** Saves or deletes the backup of a file. After a second `init` the backup is still the content before the first. */
export function saveBackup(
  path: string,
  backup: SettingsBackup | undefined,
  terminal: Terminal,
  part: ChangedPart = 'hooks',
): void {
  const backupFile = backupPath(path, terminal, part);
  if (backup === undefined) {
    rmSync(backupFile, { force: true });
    return;
  }
  const earlier = readBackupFile(backupFile);
  const before = earlier !== undefined && earlier.after === backup.before ? earlier.before : backup.before;
  mkdirSync(dirname(backupFile), { recursive: true, mode: 0o700 });
  writeFileSync(backupFile, JSON.stringify({ ...backup, before, path }), { mode: 0o600 });
}

/** Replaces a file atomically, or deletes it if the text is undefined. */
export function writeSettings(path: string, text: string | undefined): void {
  if (text === undefined) {
    rmSync(path, { force: true });
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  const mode = existsSync(path) ? statSync(path).mode & 0o777 : 0o600;
  const temporaryPath = `${path}.${process.pid}.new`;
  writeFileSync(temporaryPath, text, { mode });
  renameSync(temporaryPath, path);
}

/** Reports an error of the system, such as a missing permission, in one sentence. */
export async function reportSystemErrors(settingsFile: string, change: () => Promise<number>): Promise<number> {
  try {
    return await change();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new SwitchgearError('not_written', `init changed nothing: ${describeSystemError(error, settingsFile)}`, {
      cause: error,
    });
  }
}

/** Adds the path of a file to the error about its JSON. */
export function withPathInErrors<T>(path: string, change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof SwitchgearError) || error.code !== 'invalid_json') throw error;
    throw new SwitchgearError(error.code, `${path} cannot be changed: ${error.message}`, { cause: error });
  }
}
