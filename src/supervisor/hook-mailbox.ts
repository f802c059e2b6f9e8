/**
 * What hooks below a run tell it: which tools they are asked about, so that the run leaves it to them to refuse a call
 * that repeats, and what they halted, so that the run ends its agent for the same reason.
 */

import { agentRunKeepMs, hookedToolsMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import type { Cell, Change, Store } from '../ports/store.ts';

/** Plain JSON. */
export interface HookMailbox {
  /** Tools by the names that the agent's stream has for them. */
  readonly tools: readonly string[];
  readonly halt: HookHalt | null;
}

/** A halt, and the tool that it was about. */
export interface HookHalt {
  readonly stop: Stop;
  readonly name: string;
}

const emptyMailbox: HookMailbox = { tools: [], halt: null };

export function openHookMailbox(store: Pick<Store, 'cell'>, task: string): Cell<HookMailbox> {
  return store.cell(keyOf(task), () => emptyMailbox, { keepMs: agentRunKeepMs });
}

/** Says that hooks are asked about a tool; written only where that is news. */
export async function reportHookedTool(store: Store, task: string, tool: string): Promise<void> {
  await updateMailbox(store, task, (state) => {
    const { tools } = state;
    return tools.includes(tool) || tools.length >= hookedToolsMax ? undefined : { ...state, tools: [...tools, tool] };
  });
}

/** Says what was halted; the first word stands. */
export async function reportHookHalt(store: Store, task: string, halt: HookHalt): Promise<void> {
  await updateMailbox(store, task, (state) => (state.halt === null ? { ...state, halt } : undefined));
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
  await store.shared?.commit({ changes: [{ cell, update } as unknown as Change] });
}

function keyOf(task: string): string {
  return `agent-run-hooks/${task}`;
}
