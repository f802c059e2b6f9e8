/**
 * Everything that a command has started, found in two ways: by descent, and by a mark in the environment, since tools
 * run in sessions of their own and outlive the one who started them. What was seen once is remembered.
 */

import { processesMax } from '../core/limits.ts';
import { carries, type Process, processAt, processes } from './process-table.ts';

export interface ProcessTree {
  /** The command itself, once it runs. */
  readonly root: Process | undefined;
  /** Says which process the command is. */
  plant(pid: number): void;
  /** The processes of the tree that live now. */
  look(): readonly Process[];
  /** Whether the command itself lives. */
  hasRoot(): boolean;
}

/** The name of a variable that nobody else has: a nested run leaves it in place, so the outer one finds it all. */
export function markOf(id: string): string {
  return `SWITCHGEAR_MARK_${id.replaceAll(/\W/g, '_')}`;
}

/** @param ownsSession Whether the command was started as the first of a session of its own. */
export function processTree(mark: string, ownsSession: boolean): ProcessTree {
  let root: Process | undefined;
  const seen = new Map<number, string>();

  function look(): readonly Process[] {
    const all = processes();
    const found = new Map<number, Process>();
    const children = new Map<number, Process[]>();
    for (const each of all) {
      const siblings = children.get(each.parent);
      if (siblings === undefined) children.set(each.parent, [each]);
      else siblings.push(each);
      if (isOurs(each)) found.set(each.pid, each);
    }
    // A set grows while it is walked: children of children come in turn.
    for (const pid of found.keys()) {
      for (const child of children.get(pid) ?? []) if (child.pid !== process.pid) found.set(child.pid, child);
    }
    seen.clear();
    for (const { pid, began } of found.values()) if (seen.size < processesMax) seen.set(pid, began);
    return [...found.values()];
  }

  function isOurs(each: Process): boolean {
    if (each.pid === process.pid) return false;
    if (seen.get(each.pid) === each.began) return true;
    if (root !== undefined) {
      if (each.pid === root.pid) return each.began === root.began;
      if (ownsSession && each.session === root.pid) return true;
      if (Number(each.began) < Number(root.began)) return false; // It is older, and cannot have been started by it.
    }
    return carries(each, `${mark}=`);
  }

  return {
    get root() {
      return root;
    },
    plant(pid) {
      root = processAt(pid);
      if (root !== undefined) seen.set(pid, root.began);
    },
    look,
    hasRoot: () => root !== undefined && processAt(root.pid)?.began === root.began,
  };
}
