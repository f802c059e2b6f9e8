/**
 * Money and tokens of a task that only hooks see: no payload tells them, but each names the file in which its host
 * keeps them. Below a run they are the run's to count.
 */

import { hookAgentsMax, hookPricesKeepMs } from '../../core/limits.ts';
import { observe } from '../../guard/internal.ts';
import type { Prices } from '../../ports/prices.ts';
import type { Change } from '../../ports/store.ts';
import type { Transcript } from '../hosts/hook-event.ts';
import { type HookContext, haltRootTask } from '../session/hook-tasks.ts';
import type { SessionTurn } from '../session/session-turn.ts';
import type { KeptRates, RateKeeper } from './price-cache.ts';
import { type NewUsage, readOn } from './transcript.ts';

/** Whose usage is counted, where it is found, and what it costs: the rates that are known, or else the book. */
export interface Spending extends Transcript {
  /** The subagent; absent = the main one. */
  readonly agent: string | undefined;
  readonly rates: RateKeeper;
  openBook(): Promise<Prices>;
}

/** Books what an agent used since the last look, on its task. */
export async function bookUsage(context: HookContext, turn: SessionTurn, spending: Spending): Promise<void> {
  const { path, reader, model, agent } = spending;
  if (agent !== undefined && turn.state.agents[agent] === undefined) return; // Its task is about to begin.
  const key = agent ?? '';
  const marks = turn.state.read ?? {};
  // The file of a subagent begins with it; that of a conversation may have begun long before.
  const found = readOn(path, marks[key], agent !== undefined, reader());
  if (found === undefined) return;
  const others = Object.entries(marks).filter(([of]) => of !== key);
  turn.state = {
    ...turn.state,
    read: Object.fromEntries([...others, [key, found.mark] as const].slice(-hookAgentsMax - 1)),
  };
  const id = agent === undefined ? turn.state.task : turn.state.agents[agent]?.task;
  const task = id === undefined || id === null || found.used.length === 0 ? undefined : await turn.loadTask(id);
  if (task === undefined) return; // Nobody is left who could be charged.
  const used = found.used.map((usage) => (model === undefined ? usage : { model, ...usage }));
  await learn(context, spending, used);
  for (const usage of used) observe(context.runtime, task.node, { type: 'usage', ...usage });
  haltRootTask(context, task, 'model');
}

/** Opens the book for what is not known yet, and keeps what it says for the next hook. */
async function learn({ store }: HookContext, { rates, openBook }: Spending, used: readonly NewUsage[]): Promise<void> {
  const [row] = await store.shared.read(ratesKey, 1);
  if (row?.key === ratesKey) rates.recall(row.state as KeptRates);
  const before = rates.kept;
  for (const usage of used) if (!rates.knows(usage)) rates.learn(await openBook(), usage);
  if (rates.kept === before) return;
  const cell = store.cell<KeptRates>(ratesKey, () => ({}), { keepMs: hookPricesKeepMs });
  const update = (stored: KeptRates) => {
    rates.recall(stored);
    return { state: rates.kept };
  };
  await store.shared.commit({ changes: [{ cell, update } as unknown as Change] });
}

const ratesKey = 'hook-rates';
