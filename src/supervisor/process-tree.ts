/**
 * Finds all processes that a command has started: by their parents, their session, a variable in their environment and
 * the output pipe they inherit, because tools may run in their own sessions, with an empty environment, and outlive
 * their parents. Processes found once stay known, so a tree that is looked at while it lives is known at its end.
 */

import { knownMembersMax, processesMax } from '../core/limits.ts';
import {
  findEnvironmentMark,
  findEvenEnded,
  findProcess,
  hasEnvironmentMark,
  listChildren,
  type ProcessInfo,
  readPipeId,
  readProcessList,
} from './process-table.ts';

/** A process that belongs to a tree: its id and its start time. */
export type TreeMember = readonly [pid: number, began: string];

export interface ProcessTree {
  /** The command itself, once it runs. */
  readonly root: ProcessInfo | undefined;
  /** Sets the process of the command, which may have ended already; `began` is its start time, if known. */
  setRoot(pid: number, began?: string): void;
  /** Adds processes that are known to belong to the tree. */
  addMembers(members: readonly TreeMember[]): void;
  /** The running processes of the tree. */
  scan(): readonly ProcessInfo[];
  /** Whether the last scan has missed none: no process was just starting a program, or ended during the scan. */
  readonly isSettled: boolean;
  /** Looks for new children of the known processes, without a list of all processes. */
  scanChildren(): void;
  /** The known processes that another process cannot find by the mark. */
  findUnmarked(): readonly TreeMember[];
  /** Whether the command itself is running. */
  hasRoot(): boolean;
}

/** A unique variable name for each run; a nested run keeps the outer variable, so the outer run finds all processes. */
export function makeMarkName(id: string): string {
  return `SWITCHGEAR_MARK_${id.replaceAll(/\W/g, '_')}`;
}

/** Whether a variable is the mark of a run or of a chain step. */
export function isMarkName(name: string): boolean {
  return name.startsWith('SWITCHGEAR_MARK_');
}

/** @param ownsSession Whether the command was started in its own session. */
export function processTree(mark: string, ownsSession: boolean): ProcessTree {
  return new MarkedTree(mark, ownsSession);
}

/** Processes outside of a tree by id, and how often they were looked at. */
type ForeignProcesses = Map<number, { readonly began: string; readonly looks: number }>;

class MarkedTree implements ProcessTree {
  readonly #mark: string;
  readonly #ownsSession: boolean;
  #root: ProcessInfo | undefined;
  /** The start times of the known processes, by id. */
  #members = new Map<number, string>();
  /** Sessions that processes of the tree have created; a session id is not reused while one of them runs. */
  #sessions = new Set<number>();
  /** The output pipes that were made for the command. */
  #pipes: readonly string[] = [];
  /** Processes outside of the tree, and how often they were looked at: a starting process has no environment yet. */
  #foreign: ForeignProcesses = new Map();
  #isSettled = true;
  /** Whether the session of the command has ended; its id may then belong to another one. */
  #isSessionOver = false;

  constructor(mark: string, ownsSession: boolean) {
    this.#mark = mark;
    this.#ownsSession = ownsSession;
  }

  get root(): ProcessInfo | undefined {
    return this.#root;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  setRoot(pid: number, began?: string): void {
    const found = findEvenEnded(pid);
    const isOther = began !== undefined && found !== undefined && found.began !== began;
    const root = began === undefined || found?.began === began ? found : describeEnded(pid, began);
    this.#root = root;
    this.#isSessionOver = isOther; // Its id, and with it that of its session, belongs to another process now.
    if (root === undefined || isOther) return;
    this.#members.set(pid, root.began);
    if (!this.#ownsSession) return;
    // A pipe that this process writes to as well was there before the command: unrelated processes may have it.
    const own = [1, 2].map((descriptor) => readPipeId(process.pid, descriptor));
    const pipes = [1, 2].flatMap((descriptor) => readPipeId(pid, descriptor) ?? []);
    this.#pipes = pipes.filter((pipe) => !own.includes(pipe));
  }

  addMembers(members: readonly TreeMember[]): void {
    for (const [pid, began] of members) this.#members.set(pid, began);
  }

  scan(): readonly ProcessInfo[] {
    const found = new Map<number, ProcessInfo>();
    const children = new Map<number, ProcessInfo[]>();
    const foreign: ForeignProcesses = new Map();
    const { processes, isComplete } = readProcessList();
    this.#isSettled = isComplete;
    for (const each of processes) {
      const siblings = children.get(each.parent);
      if (siblings === undefined) children.set(each.parent, [each]);
      else siblings.push(each);
      if (this.#isMember(each, foreign)) found.set(each.pid, each);
    }
    // The map grows during the iteration, so descendants of any depth are found.
    for (const pid of found.keys()) {
      for (const child of children.get(pid) ?? []) if (child.pid !== process.pid) found.set(child.pid, child);
    }
    this.#foreign = foreign;
    this.#members = new Map();
    this.#sessions = new Set();
    const root = this.#root;
    if (root !== undefined && this.#isSettled)
      this.#isSessionOver ||= ![...found.values()].some(({ session }) => session === root.pid);
    for (const each of found.values()) {
      if (this.#members.size < processesMax) this.#members.set(each.pid, each.began);
      if (this.#ownsSession || each.session !== this.#root?.session) this.#sessions.add(each.session);
    }
    return [...found.values()];
  }

  #isMember(each: ProcessInfo, foreign: ForeignProcesses): boolean {
    const { pid, began } = each;
    if (pid === process.pid) return false;
    if (this.#members.get(pid) === began) return true;
    if (this.#root !== undefined) {
      if (pid === this.#root.pid) return began === this.#root.began;
      if (this.#ownsSession && !this.#isSessionOver && each.session === this.#root.pid) return true;
      if (Number(began) < Number(this.#root.began)) return false; // An older process cannot be a descendant.
      if (this.#sessions.has(each.session)) return true;
    }
    const known = this.#foreign.get(pid);
    const looks = known?.began === began ? known.looks : 0;
    if (looks < looksMax) {
      const isMarked = findEnvironmentMark(each, `${this.#mark}=`);
      if (isMarked === true || this.#sharesPipe(pid)) return true;
      this.#isSettled &&= isMarked !== undefined;
    }
    foreign.set(pid, { began, looks: looks + 1 });
    return false;
  }

  /** Whether a process has inherited an output pipe of the command. */
  #sharesPipe(pid: number): boolean {
    if (this.#pipes.length === 0) return false;
    return [1, 2].some((descriptor) => this.#pipes.includes(readPipeId(pid, descriptor) ?? ''));
  }

  scanChildren(): void {
    // The map grows during the iteration.
    for (const [pid, began] of this.#members) {
      if (this.#members.size > knownMembersMax) return;
      for (const child of listChildren(pid)) {
        if (this.#members.has(child) || child === process.pid) continue;
        const found = findProcess(child);
        // The id of a parent that has ended may belong to another process now.
        if (found?.parent === pid && findProcess(pid)?.began === began) this.#members.set(child, found.began);
      }
    }
  }

  findUnmarked(): readonly TreeMember[] {
    const unmarked: TreeMember[] = [];
    for (const [pid, began] of this.#members) {
      const found = findProcess(pid);
      if (found?.began === began && !hasEnvironmentMark(found, `${this.#mark}=`)) unmarked.push([pid, began]);
    }
    return unmarked.slice(0, knownMembersMax);
  }

  hasRoot(): boolean {
    return this.#root !== undefined && findProcess(this.#root.pid)?.began === this.#root.began;
  }
}

/** A command that has ended, started in its own session. */
function describeEnded(pid: number, began: string): ProcessInfo {
  return { pid, parent: 0, group: pid, session: pid, began, name: '', hasTerminal: false };
}

/** After this many looks a process without the mark is taken for a process outside of the tree. */
const looksMax = 3;
