/**
 * Changes the settings file of another program: prints the difference, replaces the file atomically, keeps a backup.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stateFolder } from '../../platform/state-folder.ts';
import type { Terminal } from '../command.ts';

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

/** The contents of a settings file before and after the hooks were added; `before` is null if there was no file. */
export interface SettingsBackup {
  readonly before: string | null;
  readonly after: string;
}

function backupPath(path: string, terminal: Terminal): string {
  return join(
    stateFolder(terminal.env),
    'init',
    `${createHash('sha256').update(path).digest('hex').slice(0, 16)}.json`,
  );
}

export function readBackup(path: string, terminal: Terminal): SettingsBackup | undefined {
  try {
    return JSON.parse(readFileSync(backupPath(path, terminal), 'utf8')) as SettingsBackup;
  } catch {
    return undefined; // Without a backup only the hooks are removed.
  }
}

/** Saves or deletes the backup of a file. After a second `init` the backup is still the content before the first. */
export function saveBackup(path: string, backup: SettingsBackup | undefined, terminal: Terminal): void {
  const backupFile = backupPath(path, terminal);
  if (backup === undefined) {
    rmSync(backupFile, { force: true });
    return;
  }
  const earlier = readBackup(path, terminal);
  const before = earlier !== undefined && earlier.after === backup.before ? earlier.before : backup.before;
  mkdirSync(dirname(backupFile), { recursive: true, mode: 0o700 });
  writeFileSync(backupFile, JSON.stringify({ ...backup, before }), { mode: 0o600 });
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
