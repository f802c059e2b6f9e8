/** The processes of this machine as the system tells of them: /proc where there is one, `ps` elsewhere. */

import { readdirSync, readFileSync } from 'node:fs';
import { processesMax } from '../core/limits.ts';

/** A process. Its number is given again once it is gone; with the time it began it is its own. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it began, in the system's own words. */
  readonly began: string;
}

/** Every process that lives; those that ended and wait for their parent to notice do not. */
export function listProcesses(): readonly ProcessInfo[] {
  const pids = listPids('/proc');
  return pids.length > 0 ? pids.flatMap((pid) => findProcess(pid) ?? []) : listByPs();
}

/** One process by its number, if it lives. */
export function findProcess(pid: number): ProcessInfo | undefined {
  const text = readProcFile(`/proc/${pid}/stat`)?.toString('latin1');
  if (text === undefined) return listPids('/proc').length > 0 ? undefined : listByPs(pid)[0];
  // The second field is the name in parentheses, which may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const [, parent, group, session] = fields.map(Number);
  return { pid, parent: parent!, group: group!, session: session!, began: fields[19] ?? '' };
}

/** Whether a process was started with these words in its environment; false where nobody may look. */
export function hasEnvironmentMark({ pid }: ProcessInfo, mark: string): boolean {
  return readProcFile(`/proc/${pid}/environ`)?.includes(mark) ?? false;
}

/** Unlike for every start of the machine; empty where the system does not say. */
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
    return []; // Another system.
  }
}

function readProcFile(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // It ended meanwhile, or belongs to somebody else.
  }
}

function listByPs(pid?: number): readonly ProcessInfo[] {
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
