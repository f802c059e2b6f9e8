/** The processes of this machine as the system tells of them: /proc where there is one, `ps` elsewhere. */

import { readdirSync, readFileSync } from 'node:fs';
import { processesMax } from '../core/limits.ts';

/** A process. Its number is given again once it is gone; with the time it began it is its own. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it began, in the system's own words. */
  readonly began: string;
}

/** Every process that lives; those that ended and wait for their parent to notice do not. */
export function processes(): readonly Process[] {
  const pids = numbersIn('/proc');
  return pids.length > 0 ? pids.flatMap((pid) => processAt(pid) ?? []) : listed();
}

/** One process by its number, if it lives. */
export function processAt(pid: number): Process | undefined {
  const text = read(`/proc/${pid}/stat`)?.toString('latin1');
  if (text === undefined) return numbersIn('/proc').length > 0 ? undefined : listed(pid)[0];
  // The second field is the name in parentheses, which may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const [, parent, group, session] = fields.map(Number);
  return { pid, parent: parent!, group: group!, session: session!, began: fields[19] ?? '' };
}

/** Whether a process was started with these words in its environment; false where nobody may look. */
export function carries({ pid }: Process, mark: string): boolean {
  return read(`/proc/${pid}/environ`)?.includes(mark) ?? false;
}

/** Unlike for every start of the machine; empty where the system does not say. */
export function bootId(): string {
  return read('/proc/sys/kernel/random/boot_id')?.toString('latin1').trim() ?? '';
}

function numbersIn(folder: string): readonly number[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^\d+$/.test(name))
      .slice(0, processesMax)
      .map(Number);
  } catch {
    return []; // Another system.
  }
}

function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // It ended meanwhile, or belongs to somebody else.
  }
}

function listed(pid?: number): readonly Process[] {
  const which = pid === undefined ? ['-A'] : ['-p', String(pid)];
  // Loaded here: a hook asks for one process, and needs nothing of this where there is /proc.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { stdout } = spawnSync('ps', [...which, '-o', 'pid=,ppid=,pgid=,stat=,lstart='], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [, id, parent, group, state, began] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line) ?? [];
    if (id === undefined || state?.startsWith('Z')) return [];
    // A session is not shown; that of a process that was started on its own is its group.
    return [{ pid: Number(id), parent: Number(parent), group: Number(group), session: Number(group), began: began! }];
  });
}
