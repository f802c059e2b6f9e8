/** Books the guarded calls of library programs below a run: they count them in files that the run names. */

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Card } from '../../core/card.ts';
import { maxTreeCallsOf } from '../../core/controls/budget/budget.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { type CarriedTask, captureTask, openCard, type Runtime, runtimeOf } from '../../guard/internal.ts';
import { readRegularFile } from '../../platform/regular-file.ts';
import { stateFolder } from '../../platform/state-folder.ts';
import type { Terminal } from '../command.ts';
import { followFile } from './followed-file.ts';

/** Calls that a run books in one poll, and bytes of costs. */
const libraryCallsMax = 10_000;
const costBytesMax = 1_048_576;

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

/** The calls that library programs below a run have left: those of its task, or those of nested agents. */
function countCallsLeft({ budget, limits }: CarriedTask, isOwn: boolean): number {
  const left = isOwn ? limits.maxToolCalls - budget.calls : maxTreeCallsOf(limits) - (budget.treeCalls ?? 0);
  return Math.min(Math.max(0, left), Number.MAX_SAFE_INTEGER);
}

/** What library programs did since the last poll. */
export interface LibraryNews {
  readonly calls: number;
  readonly costs: readonly { readonly micros: number; readonly tokens: number }[];
  /** Whether somebody changed the files meanwhile: shortened or replaced them, or wrote another limit. */
  readonly isChanged: boolean;
}

interface LibraryCalls {
  read(): LibraryNews;
  close(): void;
}

const noNews: LibraryNews = { calls: 0, costs: [], isChanged: false };

/** Tells library programs their limit, and reads what they did. */
function openLibraryCalls(path: string | undefined, limit: number | undefined): LibraryCalls {
  if (path === undefined) return { read: () => noNews, close: () => undefined };
  const calls = followFile(path, libraryCallsMax);
  const costs = followFile(`${path}.spend`, costBytesMax);
  let isWritten = limit !== undefined && writeLimit(path, limit);
  let isClosed = false;
  return {
    read() {
      if (isClosed) return noNews;
      let called = 0;
      const spent: LibraryNews['costs'][number][] = [];
      const isCallsChanged = calls.read((bytes) => {
        called += bytes.length;
        return bytes.length;
      });
      const isCostsChanged = costs.read((bytes) => {
        const end = bytes.lastIndexOf('\n') + 1;
        spent.push(...parseCosts(bytes.toString('latin1', 0, end)));
        return end;
      });
      const isLimitChanged = isWritten && readRegularFile(`${path}.limit`, limitBytesMax)?.toString() !== String(limit);
      if (isLimitChanged) isWritten = writeLimit(path, limit!);
      return { calls: called, costs: spent, isChanged: isCallsChanged || isCostsChanged || isLimitChanged };
    },
    close() {
      isClosed = true;
      calls.close();
      costs.close();
    },
  };
}

/** Bytes of the file with the limit. */
const limitBytesMax = 64;

function writeLimit(path: string, limit: number): boolean {
  try {
    writeFileSync(`${path}.new`, String(limit), { mode: 0o600 });
    renameSync(`${path}.new`, `${path}.limit`);
    return true;
  } catch {
    return false; // A full disk: the run counts the calls in any case.
  }
}

function parseCosts(text: string): LibraryNews['costs'] {
  return text.split(/[\r\n]/).flatMap((line) => {
    const [micros = Number.NaN, tokens = Number.NaN] = line === '' ? [] : line.split(' ').map(Number);
    return micros >= 0 && tokens >= 0 ? [{ micros, tokens }] : [];
  });
}

/** Opens a card, once for each task: only the run writes the limit, and programs do nothing but append. */
function reportChangedCalls(runtime: Runtime, task: string): void {
  const id = `card-run-calls-${task}`;
  if (runtime.store.card(id) !== undefined) return;
  const what = 'the files in which programs below the run count their calls were shortened, replaced or rewritten';
  const card: Card = {
    ...{ id, kind: 'notice', task, code: 'notice', counters: {} },
    evidence: [what, 'all calls in them are counted again'],
    actions: ['dismiss'],
    state: 'open',
  };
  openCard(runtime, card, undefined, runtime.clock.nowMs());
}

/** Follows the library programs below a run. */
export interface LibraryFollower {
  /** Books what was read before; at the end also what is read now. */
  poll(isOver: boolean): void;
  /** Books the rest, and closes the files. */
  close(): void;
}

export interface LibraryOptions {
  readonly path: string | undefined;
  readonly task: string;
  /** Whether the calls are those of the task, not those of a nested agent. */
  readonly isOwn: boolean;
  book(news: LibraryNews): void;
}

export function followLibrary(gear: Switchgear, { path, task, isOwn, book }: LibraryOptions): LibraryFollower {
  const carried = captureTask(gear, task);
  const opened = openLibraryCalls(path, carried && countCallsLeft(carried, isOwn));
  let waiting: readonly LibraryNews[] = [];
  const poll = (isOver: boolean) => {
    const news = opened.read();
    if (news.isChanged) reportChangedCalls(runtimeOf(gear), task);
    // The line of a call may still be on its way, so calls are booked one poll later.
    const due = isOver ? [...waiting, news] : waiting;
    waiting = isOver ? [] : [news];
    for (const each of due) if (each.calls > 0 || each.costs.length > 0) book(each);
  };
  const close = () => {
    try {
      poll(true);
    } finally {
      opened.close();
    }
  };
  return { poll, close };
}

/** Books calls and costs on a task, until it halts. */
export function bookLibraryNews(task: Task, { calls, costs }: LibraryNews): void {
  for (let n = 0; n < calls && task.halt === undefined; n++) task.observe({ type: 'tool_use', name: 'guarded call' });
  for (const { micros, tokens: inputTokens } of costs)
    task.observe({ type: 'usage', costUsd: Math.max(0, micros - 0.5) / 1_000_000, inputTokens, outputTokens: 0 });
}
