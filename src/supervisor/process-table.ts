/** Lists the processes of this machine: from /proc if it exists, otherwise with `ps`. */

import { readdirSync, readFileSync } from 'node:fs';
import { processesMax } from '../core/limits.ts';

/** A process. A process id may be reused; together with the start time it is unique. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** The start time, in the format of the system. */
  readonly began: string;
}

/** Lists all running processes, without zombies. */
export function listProcesses(): readonly ProcessInfo[] {
  const pids = listPids('/proc');
  return pids.length > 0 ? pids.flatMap((pid) => findProcess(pid) ?? []) : listByPs();
}

/** Finds a running process by its id. */
export function findProcess(pid: number): ProcessInfo | undefined {
  const text = readProcFile(`/proc/${pid}/stat`)?.toString('latin1');
  if (text === undefined) return listPids('/proc').length > 0 ? undefined : listByPs(pid)[0];
  // The second field is the name in parentheses, which may contain any characters.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const [, parent, group, session] = fields.map(Number);
  return { pid, parent: parent!, group: group!, session: session!, began: fields[19] ?? '' };
}

/** Whether the environment of a process contains a text; false if it cannot be read. */
export function hasEnvironmentMark({ pid }: ProcessInfo, mark: string): boolean {
  return readProcFile(`/proc/${pid}/environ`)?.includes(mark) ?? false;
}

/** An id that differs for every start of the machine; empty if unknown. */
export function readBootId(): string {
  return readProcFile('/proc/sys/kernel/random/boot_id')?.toString('latin1').trim() ?? '';
}

function listPids(folder: string): readonly number[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^\d+$/.test(name))
      .slice(0, processesMax)
      .map(Number);
  } catch {
    return []; // The system has no /proc.
  }
}

function readProcFile(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // The process has ended, or belongs to another user.
  }
}

function listByPs(pid?: number): readonly ProcessInfo[] {
  const which = pid === undefined ? ['-A'] : ['-p', String(pid)];
  // Loaded here, because a hook does not need it if there is /proc.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { stdout } = spawnSync('ps', [...which, '-o', 'pid=,ppid=,pgid=,stat=,lstart='], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [, id, parent, group, state, began] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line) ?? [];
    if (id === undefined || state?.startsWith('Z')) return [];
    // `ps` does not show the session; a process with its own session has the same number as its group.
    return [{ pid: Number(id), parent: Number(parent), group: Number(group), session: Number(group), began: began! }];
  });
}
