/**
 * Messages of hooks to the run around them: the tools that hooks cover, so that the run leaves repeated calls to the
 * hooks, and the halt of a hook, so that the run ends the agent with the same reason.
 */

import { agentRunKeepMs, hookedToolsMax, nestedAgentsMax, nestedFilesMax, nestedIdsMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import type { Cell, Store } from '../ports/store.ts';

/** The stored messages, as plain JSON. */
export interface HookMailbox {
  /** Tool names as in the agent's stream. */
  readonly tools: readonly string[];
  readonly halt: HookHalt | null;
  /** Agents that the agent of the run started, by session. */
  readonly nested?: Readonly<Record<string, NestedAgent>>;
}

/** A nested agent, as its hooks or its own `switchgear run` report it. */
export interface NestedAgent {
  readonly host: string;
  /** The calls so far, and the ids of the last ones, which tell a repeated report. */
  readonly calls: number;
  readonly ids: readonly string[];
  /** The session files, each with the first byte that belongs to the run. */
  readonly files?: Readonly<Record<string, number>>;
  /** The processes around the first hook. */
  readonly parents?: readonly number[];
  /** The spending so far, if a nested run counts it. */
  readonly micros?: number;
  readonly tokens?: number;
}

/** One report of a nested agent: a call, a session file. */
export interface NestedReport {
  readonly session: string;
  readonly host: string;
  readonly call?: string | undefined;
  /** The session file; `from` is its size at the first report, or 0 if the file is younger than the run. */
  readonly file?: { readonly path: string; readonly from: number } | undefined;
  readonly parents: readonly number[];
}

/** A halt and its tool. */
export interface HookHalt {
  readonly stop: Stop;
  readonly name: string;
}

const emptyMailbox: HookMailbox = { tools: [], halt: null };

export function openHookMailbox(store: Pick<Store, 'cell'>, task: string): Cell<HookMailbox> {
  return store.cell(keyOf(task), () => emptyMailbox, { keepMs: agentRunKeepMs });
}

/** Reports that hooks cover a tool; writes only if that is new. */
export async function reportHookedTool(store: Store, task: string, tool: string): Promise<void> {
  await updateMailbox(store, task, (state) => {
    const { tools } = state;
    return tools.includes(tool) || tools.length >= hookedToolsMax ? undefined : { ...state, tools: [...tools, tool] };
  });
}

/** Reports a halt; only the first one is kept. */
export async function reportHookHalt(store: Store, task: string, halt: HookHalt): Promise<void> {
  await updateMailbox(store, task, (state) => (state.halt === null ? { ...state, halt } : undefined));
}

/** Reports a nested agent; writes only what is new. Returns false if a run has too many nested agents. */
export async function reportNestedAgent(store: Store, task: string, report: NestedReport): Promise<boolean> {
  const { session, host, call, file, parents } = report;
  let isFull = false;
  await updateMailbox(store, task, (state) => {
    const { nested = {} } = state;
    const before = Object.hasOwn(nested, session) ? nested[session] : undefined;
    isFull = before === undefined && Object.keys(nested).length >= nestedAgentsMax;
    const isNewCall = call !== undefined && before?.ids.includes(call) !== true;
    const isNewFile = file !== undefined && !Object.hasOwn(before?.files ?? {}, file.path);
    if (isFull || (before !== undefined && !isNewCall && !isNewFile)) return undefined;
    const { calls, ids, files = {} } = before ?? { calls: 0, ids: [] };
    const isRoom = Object.keys(files).length < nestedFilesMax;
    const agent: NestedAgent = {
      host,
      calls: calls + (isNewCall ? 1 : 0),
      ids: isNewCall ? [...ids, call].slice(-nestedIdsMax) : ids,
      files: isNewFile && isRoom ? { ...files, [file.path]: file.from } : files,
      parents: before?.parents ?? parents,
    };
    return { ...state, nested: { ...nested, [session]: agent } };
  });
  return !isFull;
}

/** Reports the totals of a nested run. */
export async function reportNestedRun(
  store: Store,
  task: string,
  run: string,
  totals: Pick<NestedAgent, 'host' | 'calls' | 'micros' | 'tokens'>,
): Promise<void> {
  await updateMailbox(store, task, (state) => {
    const { nested = {} } = state;
    if (!Object.hasOwn(nested, run) && Object.keys(nested).length >= nestedAgentsMax) return undefined;
    return { ...state, nested: { ...nested, [run]: { ids: [], ...totals } } };
  });
}

export function dropHookMailbox(store: Store, task: string): void {
  store.drop(keyOf(task));
}

async function updateMailbox(
  store: Store,
  task: string,
  next: (state: HookMailbox) => HookMailbox | undefined,
): Promise<void> {
  store.shared?.refresh();
  const cell = openHookMailbox(store, task);
  if (next(cell.state) === undefined) return;
  const update = (stored: HookMailbox) => {
    const state = next(stored);
    return state === undefined ? ('keep' as const) : { state };
  };
  await store.shared?.commit({ changes: [{ cell, update }] });
}

function keyOf(task: string): string {
  return `agent-run-hooks/${task}`;
}
