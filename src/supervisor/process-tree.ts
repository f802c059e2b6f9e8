/**
 * Everything that a command has started, found in two ways: by descent, and by a mark in the environment, since tools
 * run in sessions of their own and outlive the one who started them. What was seen once is remembered.
 */

import { processesMax } from '../core/limits.ts';
import { findProcess, hasEnvironmentMark, listProcesses, type ProcessInfo } from './process-table.ts';

export interface ProcessTree {
  /** The command itself, once it runs. */
  readonly root: ProcessInfo | undefined;
  /** Says which process the command is. */
  setRoot(pid: number): void;
  /** The processes of the tree that live now. */
  scan(): readonly ProcessInfo[];
  /** Whether the command itself lives. */
  hasRoot(): boolean;
}

/** The name of a variable that nobody else has: a nested run leaves it in place, so the outer one finds it all. */
export function makeMarkName(id: string): string {
  return `SWITCHGEAR_MARK_${id.replaceAll(/\W/g, '_')}`;
}

/** @param ownsSession Whether the command was started as the first of a session of its own. */
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
    // A set grows while it is walked: children of children come in turn.
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
      if (Number(each.began) < Number(root.began)) return false; // It is older, and cannot have been started by it.
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
