/** Lists the processes of this machine: from /proc if it exists, otherwise with `ps`. */

import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { processesMax } from '../core/limits.ts';
import { readRegularFile } from '../platform/regular-file.ts';

/** A process. A process id may be reused; together with the start time it is unique. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** The start time, in the format of the system. */
  readonly began: string;
  /** The name of the program, without its arguments. */
  readonly name: string;
  /** Whether the process has a controlling terminal. */
  readonly hasTerminal: boolean;
}

/** The processes of a moment. */
export interface ProcessList {
  readonly processes: readonly ProcessInfo[];
  /** Whether no process ended while the list was made; one that ended may have started another one unseen. */
  readonly isComplete: boolean;
}

/** Lists all running processes, without zombies. */
export function listProcesses(): readonly ProcessInfo[] {
  return readProcessList().processes;
}

/** Lists all running processes, without zombies, and says whether the list can be relied on. */
export function readProcessList(): ProcessList {
  const pids = listPids('/proc');
  if (pids.length === 0) return { processes: listByPs(), isComplete: true };
  const processes: ProcessInfo[] = [];
  let isComplete = true;
  for (const pid of pids) {
    const text = readStat(pid);
    const found = text === undefined ? undefined : parseStat(pid, text);
    if (found !== undefined) processes.push(found);
    isComplete &&= text !== undefined;
  }
  return { processes, isComplete };
}

/** Finds a running process by its id. */
export function findProcess(pid: number): ProcessInfo | undefined {
  const text = readStat(pid);
  if (text === undefined) return hasProc() ? undefined : listByPs(pid)[0];
  return parseStat(pid, text);
}

/** Whether a process that was found before still runs. */
export function isRunning({ pid, began }: Pick<ProcessInfo, 'pid' | 'began'>): boolean {
  return findProcess(pid)?.began === began;
}

/** Finds a process, even one that has ended, as long as its parent has not read its exit. */
export function findEvenEnded(pid: number): ProcessInfo | undefined {
  const text = readStat(pid);
  return text === undefined ? findProcess(pid) : parseStat(pid, text, true);
}

function readStat(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8'); // Node reads text faster than bytes.
  } catch {
    return undefined; // The process has ended, or belongs to another user.
  }
}

function parseStat(pid: number, text: string, allowsZombie = false): ProcessInfo | undefined {
  // The second field is the name in parentheses, which may contain any characters.
  const nameEnd = text.lastIndexOf(')');
  const fields = text.slice(nameEnd + 2).split(' ');
  if (!allowsZombie && (fields[0] === 'Z' || fields[0] === 'X')) return undefined;
  const [, parent, group, session, terminal] = fields.map(Number);
  const name = text.slice(text.indexOf('(') + 1, nameEnd);
  const began = fields[19] ?? '';
  return { pid, parent: parent!, group: group!, session: session!, began, name, hasTerminal: terminal !== 0 };
}

/**
 * Finds a running process by its id, or says that it is hidden: its files do not come from the kernel although this
 * process could signal it, as when another file system is mounted over them. Processes of other users, which a system
 * may hide, are not meant.
 */
export function findUnlessHidden(pid: number): ProcessInfo | 'hidden' | undefined {
  if (process.platform !== 'linux') return findProcess(pid);
  const text = hasKernelFiles(pid) ? readStat(pid) : undefined;
  if (text?.startsWith(`${pid} (`)) return parseStat(pid, text);
  return canSignal(pid) ? 'hidden' : findProcess(pid);
}

function hasKernelFiles(pid: number): boolean {
  try {
    return statfsSync(`/proc/${pid}/stat`).type === procFileSystem;
  } catch {
    return false; // The process has ended, belongs to another user, or is hidden.
  }
}

function canSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The number of the file system of /proc on Linux. */
const procFileSystem = 0x9fa0;

/** Whether the environment of a process contains a text; false if it cannot be read. */
export function hasEnvironmentMark(process: ProcessInfo, mark: string): boolean {
  return findEnvironmentMark(process, mark) ?? false;
}

/** As `hasEnvironmentMark`; undefined for an empty environment, as a process has while it starts a program. */
export function findEnvironmentMark({ pid }: ProcessInfo, mark: string): boolean | undefined {
  const environment = readProcFile(`/proc/${pid}/environ`);
  return environment?.length === 0 ? undefined : (environment?.includes(mark) ?? false);
}

/** Bytes of the environment of a process; a longer one is not read. */
const environmentBytesMax = 262_144;

/** Some variables with which a process was started, and its folder; undefined if they cannot be read. */
export function readStartVariables(
  { pid }: Pick<ProcessInfo, 'pid'>,
  names: readonly string[],
): { readonly env: Readonly<Record<string, string>>; readonly cwd: string } | undefined {
  const text = readRegularFile(`/proc/${pid}/environ`, environmentBytesMax)?.toString('utf8');
  if (text === undefined) return undefined;
  const env: Record<string, string> = {};
  for (const line of text.split('\0')) {
    const name = names.find((each) => line.startsWith(`${each}=`));
    if (name !== undefined) env[name] ??= line.slice(name.length + 1);
  }
  try {
    return { env, cwd: readlinkSync(`/proc/${pid}/cwd`) };
  } catch {
    return undefined; // The process has ended meanwhile.
  }
}

/** The command line of a process; empty if it cannot be read. */
export function readCommandLine(pid: number): readonly string[] {
  const text = readProcFile(`/proc/${pid}/cmdline`)?.toString('utf8');
  if (text !== undefined) return text.split('\0').slice(0, -1);
  if (hasProc()) return [];
  const line = runPs(['-p', String(pid), '-o', 'args=']).trim();
  return line === '' ? [] : line.split(/\s+/);
}

/** The file name of the program of a process; undefined if it cannot be read. */
export function readProgramName(pid: number): string | undefined {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return undefined; // The process belongs to another user, or the system has no /proc.
  }
}

/** Whether one start time is earlier than another one of the same machine; false if they cannot be compared. */
export function isEarlier(began: string, other: string): boolean {
  const parse = (text: string) => (/^\d+$/.test(text) ? Number(text) : Date.parse(text));
  return parse(began) < parse(other);
}

/**
 * The PID namespace of this process, with its time namespace unless that is the first one of the machine: both change
 * what identifies a process. Empty if the system has none.
 */
export function readPidNamespace(): string {
  const time = readNamespace('time');
  return [readNamespace('pid'), ...(time === firstTimeNamespace ? [] : [time])].filter(Boolean).join(' ');
}

/** The time namespace in which start times count from the start of the machine; the kernel gives it a fixed number. */
const firstTimeNamespace = 'time:[4026531834]';

function readNamespace(kind: 'pid' | 'time'): string {
  try {
    return readlinkSync(`/proc/self/ns/${kind}`);
  } catch {
    return ''; // The system has no such namespaces.
  }
}

/** The processes that the main thread of a process has started and that have not ended; empty if unknown. */
export function listChildren(pid: number): readonly number[] {
  const text = readProcFile(`/proc/${pid}/task/${pid}/children`)?.toString('latin1') ?? '';
  return text.split(' ').flatMap((word) => (word === '' ? [] : [Number(word)]));
}

/** The identity of an open pipe or socket of a process; undefined for other files, or if it cannot be read. */
export function readPipeId(pid: number, descriptor: number): string | undefined {
  try {
    const target = readlinkSync(`/proc/${pid}/fd/${descriptor}`);
    return /^(socket|pipe):/.test(target) ? target : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the standard input of a process may be a terminal: not if it is a file, a pipe or the null device. */
export function mayTypeInto(pid: number): boolean {
  try {
    const input = statSync(`/proc/${pid}/fd/0`);
    return input.isCharacterDevice() && input.rdev !== nullDevice;
  } catch {
    return true; // The process belongs to another user, or the system has no /proc.
  }
}

/** The number of /dev/null on Linux. */
const nullDevice = 0x103;

/** Whether a process is suspended by a signal. */
export function isSuspended(pid: number): boolean {
  const text = readStat(pid);
  const state =
    text === undefined && !hasProc()
      ? runPs(['-p', String(pid), '-o', 'stat='])
      : text?.slice(text.lastIndexOf(')') + 2);
  return /^[Tt]/.test(state?.trim() ?? '');
}

/** The processor time that a process has used, in ticks of the system; 0 if it cannot be read. */
export function readProcessorTicks(pid: number): number {
  const text = readStat(pid);
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

/** Whether processes can be listed without starting `ps`. */
export function hasProcessFiles(): boolean {
  return hasProc();
}

const bootIdPath = '/proc/sys/kernel/random/boot_id';

/** An id that differs for every start of the machine; empty if unknown. */
export function readBootId(): string {
  return readProcFile(bootIdPath)?.toString('latin1').trim() ?? '';
}

let isCovered: boolean | undefined;

/** Whether another file may be mounted over the id of the start, as by some containers and by a process that hides. */
export function isBootIdCovered(): boolean {
  isCovered ??= hasMountOverBootId();
  return isCovered;
}

function hasMountOverBootId(): boolean {
  try {
    if (statfsSync(bootIdPath).type !== procFileSystem) return true;
  } catch {
    return false; // The system has no such file.
  }
  return readProcFile('/proc/self/mountinfo')?.includes(' /proc/sys/kernel/') ?? true;
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

function hasProc(): boolean {
  return listPids('/proc').length > 0;
}

function listByPs(pid?: number): readonly ProcessInfo[] {
  const which = pid === undefined ? ['-A'] : ['-p', String(pid)];
  const line = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\w+ +\w+ +\d+ +[\d:]+ +\d+)\s+(.*)$/;
  return runPs([...which, '-o', 'pid=,ppid=,pgid=,stat=,tty=,lstart=,ucomm='])
    .split('\n')
    .flatMap((text) => {
      const [, id, parent, group, state, terminal, began, name] = line.exec(text) ?? [];
      if (id === undefined || state?.startsWith('Z')) return [];
      // `ps` does not show the session; a process with its own session has the same number as its group.
      const numbers = { pid: Number(id), parent: Number(parent), group: Number(group), session: Number(group) };
      return [{ ...numbers, began: began!, name: name!.trim(), hasTerminal: !/^[?-]+$/.test(terminal!) }];
    });
}

function runPs(args: readonly string[]): string {
  // Loaded here, because a hook does not need it if there is /proc.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  return spawnSync('ps', args, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } }).stdout ?? '';
}
