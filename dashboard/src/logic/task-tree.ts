/** The tree of tasks as rows: what is shown of it, and where a key leads. */

import type { OperatorTask } from '../../../src/operator/board/answers.ts';

/** A row of the tree. */
export interface TaskRow {
  readonly task: OperatorTask;
  /** 1 for a root. */
  readonly level: number;
  readonly hasChildren: boolean;
  readonly isExpanded: boolean;
  /** The place among its siblings, from 1, and their number. */
  readonly position: number;
  readonly siblings: number;
}

/** Which tasks are shown. */
export interface TaskFilter {
  /** A part of the id or of the agent. */
  readonly text: string;
  readonly onlyLive: boolean;
}

/** Levels that are shown; deeper tasks are siblings of the last level. */
const levelsMax = 20;

/**
 * Lists the rows of a tree, the newest root first. The ancestors of a task that fits the filter are shown, too; a task
 * whose parent is unknown is a root.
 */
export function listTaskRows(
  tasks: readonly OperatorTask[],
  collapsed: ReadonlySet<string>,
  filter: TaskFilter,
): readonly TaskRow[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const shown = findShown(tasks, byId, filter);
  const children = new Map<string, OperatorTask[]>();
  const roots: OperatorTask[] = [];
  for (const task of tasks) {
    if (!shown.has(task.id) || byId.get(task.id) !== task) continue;
    const parent = task.parent === undefined || task.parent === task.id ? undefined : byId.get(task.parent);
    if (parent === undefined || isBelow(parent, task, byId)) roots.push(task);
    else if (children.has(parent.id)) children.get(parent.id)!.push(task);
    else children.set(parent.id, [task]);
  }
  const rows: TaskRow[] = [];
  const add = (siblings: readonly OperatorTask[], level: number): void => {
    siblings.forEach((task, at) => {
      const below = children.get(task.id) ?? [];
      const isExpanded = below.length > 0 && !collapsed.has(task.id);
      const place = { level, position: at + 1, siblings: siblings.length };
      rows.push({ task, ...place, hasChildren: below.length > 0, isExpanded });
      if (isExpanded) add(below, Math.min(level + 1, levelsMax));
    });
  };
  add(roots.toReversed(), 1);
  return rows;
}

/** The tasks that fit the filter, and their ancestors. */
function findShown(
  tasks: readonly OperatorTask[],
  byId: ReadonlyMap<string, OperatorTask>,
  { text, onlyLive }: TaskFilter,
): ReadonlySet<string> {
  const words = text.trim().toLowerCase();
  const shown = new Set<string>();
  for (const task of tasks) {
    if (onlyLive && task.state !== 'running' && task.state !== 'paused') continue;
    if (words !== '' && !`${task.id} ${task.agent}`.toLowerCase().includes(words)) continue;
    for (let each: OperatorTask | undefined = task; each !== undefined && !shown.has(each.id); ) {
      shown.add(each.id);
      each = each.parent === undefined ? undefined : byId.get(each.parent);
    }
  }
  return shown;
}

/** Whether a task is below another one, so that a stored circle of parents has an end. */
function isBelow(task: OperatorTask, above: OperatorTask, byId: ReadonlyMap<string, OperatorTask>): boolean {
  let each: OperatorTask | undefined = task;
  for (let steps = 0; each !== undefined && steps < byId.size; steps++) {
    if (each.id === above.id) return true;
    each = each.parent === undefined ? undefined : byId.get(each.parent);
  }
  return each !== undefined;
}

/** What a key does in the tree: moves to a row, opens or closes one, or shows its timeline. */
export type TreeMove =
  | { readonly kind: 'focus'; readonly index: number }
  | { readonly kind: 'expand' | 'collapse' | 'open' }
  | undefined;

/** Rows of one page of the keys PageUp and PageDown. */
const pageRows = 10;

/** What a key does at a row. */
export function moveInTree(rows: readonly TaskRow[], index: number, key: string): TreeMove {
  const row = rows[index];
  const focus = (to: number): TreeMove => ({ kind: 'focus', index: Math.max(0, Math.min(rows.length - 1, to)) });
  if (row === undefined) return undefined;
  switch (key) {
    case 'ArrowDown':
      return focus(index + 1);
    case 'ArrowUp':
      return focus(index - 1);
    case 'PageDown':
      return focus(index + pageRows);
    case 'PageUp':
      return focus(index - pageRows);
    case 'Home':
      return focus(0);
    case 'End':
      return focus(rows.length - 1);
    case 'ArrowRight':
      if (!row.hasChildren) return undefined;
      return row.isExpanded ? focus(index + 1) : { kind: 'expand' };
    case 'ArrowLeft': {
      if (row.isExpanded) return { kind: 'collapse' };
      const parent = rows.findIndex(({ task }) => task.id === row.task.parent);
      return parent < 0 ? undefined : focus(parent);
    }
    case 'Enter':
      return { kind: 'open' };
    default:
      return undefined;
  }
}

/** The rows of a scrolling list that are drawn: those in sight and some around them. */
export function findVisible(
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
): { readonly from: number; readonly to: number } {
  const around = 4;
  const from = Math.max(0, Math.floor(scrollTop / rowHeight) - around);
  return { from, to: Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + 2 * around) };
}
