/**
 * Finds all processes that a command has started, by their parents and by a variable in their environment, because
 * tools may run in their own sessions and outlive their parents. Processes found once stay known.
 */

import { processesMax } from '../core/limits.ts';
import { findProcess, hasEnvironmentMark, listProcesses, type ProcessInfo } from './process-table.ts';

export interface ProcessTree {
  /** The command itself, once it runs. */
  readonly root: ProcessInfo | undefined;
  /** Sets the process of the command. */
  setRoot(pid: number): void;
  /** The running processes of the tree. */
  scan(): readonly ProcessInfo[];
  /** Whether the command itself is running. */
  hasRoot(): boolean;
}

/** A unique variable name for each run; a nested run keeps the outer variable, so the outer run finds all processes. */
export function makeMarkName(id: string): string {
  return `SWITCHGEAR_MARK_${id.replaceAll(/\W/g, '_')}`;
}

/** @param ownsSession Whether the command was started in its own session. */
export function processTree(mark: string, ownsSession: boolean): ProcessTree {
  let root: ProcessInfo | undefined;
  const members = new Map<number, string>();

  function scan(): readonly ProcessInfo[] {
    const all = listProcesses();
    const found = new Map<number, ProcessInfo>();
    const children = new Map<number, ProcessInfo[]>();
    for (const each of all) {
      const siblings = children.get(each.parent);
      if (siblings === undefined) children.set(each.parent, [each]);
      else siblings.push(each);
      if (isMember(each)) found.set(each.pid, each);
    }
    // The map grows during the iteration, so descendants of any depth are found.
    for (const pid of found.keys()) {
      for (const child of children.get(pid) ?? []) if (child.pid !== process.pid) found.set(child.pid, child);
    }
    members.clear();
    for (const { pid, began } of found.values()) if (members.size < processesMax) members.set(pid, began);
    return [...found.values()];
  }

  function isMember(each: ProcessInfo): boolean {
    if (each.pid === process.pid) return false;
    if (members.get(each.pid) === each.began) return true;
    if (root !== undefined) {
      if (each.pid === root.pid) return each.began === root.began;
      if (ownsSession && each.session === root.pid) return true;
      if (Number(each.began) < Number(root.began)) return false; // An older process cannot be a descendant.
    }
    return hasEnvironmentMark(each, `${mark}=`);
  }

  return {
    get root() {
      return root;
    },
    setRoot(pid) {
      root = findProcess(pid);
      if (root !== undefined) members.set(pid, root.began);
    },
    scan,
    hasRoot: () => root !== undefined && findProcess(root.pid)?.began === root.began,
  };
}
