/** The settings file of another program: shown before it is changed, replaced in one go, kept as it was. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Terminal } from '../command.ts';
import { stateFolder } from '../store-option.ts';

/** The lines that go and those that come; what is the same at both ends is left out. */
export function show(path: string, before: string, after: string, { out }: Terminal): void {
  const old = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  const now = after === '' ? [] : after.replace(/\n$/, '').split('\n');
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head++;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  out(path);
  for (const line of old.slice(head, old.length - tail)) out(`- ${line}`);
  for (const line of now.slice(head, now.length - tail)) out(`+ ${line}`);
}

/** What a file was before our hooks came into it; null = there was none. */
export interface Kept {
  readonly before: string | null;
  readonly after: string;
}

function keptPath(path: string, terminal: Terminal): string {
  return join(
    stateFolder(terminal.env),
    'init',
    `${createHash('sha256').update(path).digest('hex').slice(0, 16)}.json`,
  );
}

export function keptFor(path: string, terminal: Terminal): Kept | undefined {
  try {
    return JSON.parse(readFileSync(keptPath(path, terminal), 'utf8')) as Kept;
  } catch {
    return undefined; // Then only our hooks are taken out.
  }
}

/** Remembers what a file was, or forgets it. A second init knows what was there before the first. */
export function keepBefore(path: string, kept: Kept | undefined, terminal: Terminal): void {
  const place = keptPath(path, terminal);
  if (kept === undefined) {
    rmSync(place, { force: true });
    return;
  }
  const earlier = keptFor(path, terminal);
  const before = earlier !== undefined && earlier.after === kept.before ? earlier.before : kept.before;
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
  writeFileSync(place, JSON.stringify({ ...kept, before }), { mode: 0o600 });
}

/** Replaces a file in one go, or takes it away where nothing is left of it. */
export function writeSettings(path: string, text: string | undefined): void {
  if (text === undefined) {
    rmSync(path, { force: true });
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  const mode = existsSync(path) ? statSync(path).mode & 0o777 : 0o600;
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, text, { mode });
  renameSync(fresh, path);
}
