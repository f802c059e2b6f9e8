/**
 * What hooks below a run tell it: which tools they are asked about, so that the run leaves it to them to refuse a call
 * that repeats, and what they halted, so that the run ends its agent for the same reason.
 */

import { agentRunKeepMs, hookedToolsMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import type { Cell, Change, Store } from '../ports/store.ts';

/** Plain JSON. */
export interface HookedRun {
  /** Tools by the names that the agent's stream has for them. */
  readonly tools: readonly string[];
  readonly halt: HookHalt | null;
}

/** A halt, and the tool that it was about. */
export interface HookHalt {
  readonly stop: Stop;
  readonly name: string;
}

const none: HookedRun = { tools: [], halt: null };

export function hookedRun(store: Pick<Store, 'cell'>, task: string): Cell<HookedRun> {
  return store.cell(keyOf(task), () => none, { keepMs: agentRunKeepMs });
}

/** Says that hooks are asked about a tool; written only where that is news. */
export async function tellTool(store: Store, task: string, tool: string): Promise<void> {
  await change(store, task, (state) => {
    const { tools } = state;
    return tools.includes(tool) || tools.length >= hookedToolsMax ? undefined : { ...state, tools: [...tools, tool] };
  });
}

/** Says what was halted; the first word stands. */
export async function tellHalt(store: Store, task: string, halt: HookHalt): Promise<void> {
  await change(store, task, (state) => (state.halt === null ? { ...state, halt } : undefined));
}

export function forgetHooks(store: Store, task: string): void {
  store.drop(keyOf(task));
}

async function change(store: Store, task: string, next: (state: HookedRun) => HookedRun | undefined): Promise<void> {
  store.shared?.refresh();
  const cell = hookedRun(store, task);
  if (next(cell.state) === undefined) return;
  const update = (stored: HookedRun) => {
    const state = next(stored);
    return state === undefined ? ('keep' as const) : { state };
  };
  await store.shared?.commit({ changes: [{ cell, update } as unknown as Change] });
}

function keyOf(task: string): string {
  return `agent-run-hooks/${task}`;
}
