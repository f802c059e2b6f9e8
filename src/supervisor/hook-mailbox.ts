/**
 * Messages of hooks to the run around them: the tools that hooks cover, so that the run leaves repeated calls to the
 * hooks, and the halt of a hook, so that the run ends the agent with the same reason.
 */

import { agentRunKeepMs, hookedToolsMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import type { Cell, Store } from '../ports/store.ts';

/** The stored messages, as plain JSON. */
export interface HookMailbox {
  /** Tool names as in the agent's stream. */
  readonly tools: readonly string[];
  readonly halt: HookHalt | null;
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
