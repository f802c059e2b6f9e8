/** The ancestors of a process, from its parent to the first process of the system. */

import { ancestorsMax } from '../core/limits.ts';
import { findUnlessHidden, type ProcessInfo, readProgramName } from './process-table.ts';

export interface ProcessChain {
  /** The process itself, its parent, and so on. */
  readonly links: readonly ProcessInfo[];
  /** Whether the chain was read up to the first process of the system. */
  readonly isComplete: boolean;
  /** Whether a process of the chain runs, but its files are covered by another file system. */
  readonly isHidden?: boolean;
}

/** Reads the chain of a process, by default of this one. */
export function readProcessChain(from: number = process.pid): ProcessChain {
  const links: ProcessInfo[] = [];
  let pid = from;
  while (links.length < ancestorsMax) {
    const link = findUnlessHidden(pid);
    if (link === 'hidden') return { links, isComplete: false, isHidden: true };
    if (link === undefined) return { links, isComplete: false };
    links.push(link);
    // The parent 0 is the kernel, or a process outside of this PID namespace.
    if (link.pid === 1 || link.parent === 0) return { links, isComplete: true };
    pid = link.parent;
  }
  return { links, isComplete: false };
}

/** Formats a chain for the journal: program names and process ids, without arguments. */
export function formatProcessChain({ links, isComplete }: ProcessChain): string {
  const shown = links.slice(0, chainLinksShown).map(({ name, pid }) => {
    // Programs can rename themselves; Node does.
    const program = readProgramName(pid) ?? name;
    return `${program.replaceAll(/[^\w.:+-]+/g, '_')} ${pid}`;
  });
  const isCut = !isComplete || links.length > chainLinksShown;
  return [...shown, ...(isCut ? ['…'] : [])].join(' < ');
}

/** The links that a formatted chain names. */
const chainLinksShown = 16;
