/** Books the guarded calls of library programs below a run: they count them in files that the run names. */

import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { maxTreeCallsOf } from '../../core/controls/budget/budget.ts';
import type { Task } from '../../guard/api.ts';
import type { CarriedTask } from '../../guard/internal.ts';
import { stateFolder } from '../../platform/state-folder.ts';
import type { Terminal } from '../command.ts';

/** Calls that a run books in one poll. */
const libraryCallsMax = 10_000;

/** Creates the files of a run; undefined if the state folder cannot be written. */
export function createLibraryCallFiles(env: Terminal['env'], task: string): string | undefined {
  const path = join(stateFolder(env), 'runs', `${task}.calls`);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    for (const each of [path, `${path}.spend`]) writeFileSync(each, '', { mode: 0o600, flag: 'wx' });
    return path;
  } catch {
    return undefined;
  }
}

export function deleteLibraryCallFiles(path: string | undefined): void {
  if (path !== undefined) for (const end of ['', '.spend', '.limit']) rmSync(path + end, { force: true });
}

/** Tells library programs how many calls a task has left: its own, or those of nested agents. */
export function writeCallLimit(path: string | undefined, task: CarriedTask | undefined, isOwn: boolean): void {
  if (path === undefined || task === undefined) return;
  const { budget, limits } = task;
  const left = isOwn ? limits.maxToolCalls - budget.calls : maxTreeCallsOf(limits) - (budget.treeCalls ?? 0);
  const limit = Math.min(Math.max(0, left), Number.MAX_SAFE_INTEGER);
  try {
    writeFileSync(`${path}.new`, String(limit), { mode: 0o600 });
    renameSync(`${path}.new`, `${path}.limit`);
  } catch {
    // A full disk: the run counts the calls in any case.
  }
}

/** What library programs did since the last poll. */
export interface LibraryNews {
  readonly calls: number;
  readonly costs: readonly { readonly micros: number; readonly tokens: number }[];
}

export function readLibraryCalls(path: string | undefined): () => LibraryNews {
  let bookedCalls = 0;
  let bookedCosts = 0;
  return () => {
    if (path === undefined) return { calls: 0, costs: [] };
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const calls = Math.min(Math.max(0, size - bookedCalls), libraryCallsMax);
    bookedCalls += calls;
    const spendSize = statSync(`${path}.spend`, { throwIfNoEntry: false })?.size ?? 0;
    if (spendSize <= bookedCosts) return { calls, costs: [] };
    const text = readFileSync(`${path}.spend`, 'latin1');
    const end = text.lastIndexOf('\n') + 1;
    const lines = text.slice(bookedCosts, end).split('\n').slice(0, -1);
    bookedCosts = end;
    const costs = lines.flatMap((line) => {
      const [micros = Number.NaN, tokens = Number.NaN] = line.split(' ').map(Number);
      return micros >= 0 && tokens >= 0 ? [{ micros, tokens }] : [];
    });
    return { calls, costs };
  };
}

/** Books calls and costs on a task, until it halts. */
export function bookLibraryNews(task: Task, { calls, costs }: LibraryNews): void {
  for (let n = 0; n < calls && task.halt === undefined; n++) task.observe({ type: 'tool_use', name: 'guarded call' });
  for (const { micros, tokens: inputTokens } of costs)
    task.observe({ type: 'usage', costUsd: Math.max(0, micros - 0.5) / 1_000_000, inputTokens, outputTokens: 0 });
}
