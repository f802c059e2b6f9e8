/**
 * Counts money and tokens of a task that only hooks see: payloads contain no usage, but name the session file that
 * does. Under a run, the run counts usage.
 */

import { hookAgentsMax, hookPricesKeepMs } from '../../core/limits.ts';
import { observe } from '../../guard/internal.ts';
import type { Prices } from '../../ports/prices.ts';
import type { TranscriptFile } from '../hosts/hook-event.ts';
import type { HookContext } from '../session/hook-tasks.ts';
import type { LockedSession } from '../session/session-lock.ts';
import type { CachedRates, PriceCache } from './price-cache.ts';
import { type NewUsage, type ReadMark, readNewUsage } from './transcript.ts';

/** The agent whose usage is counted, its session file, and the prices: cached ones, or else the price book. */
export interface UsageSource extends TranscriptFile {
  /** The subagent; absent = the main agent. */
  readonly agent: string | undefined;
  /** Whether the file may be older than the subagent; what it contains at first does not count. */
  readonly isOlder?: boolean;
  /** Whether usage without a task belongs to nobody: the event begins a task or ends a session. */
  readonly skipsUncharged?: boolean;
  readonly cache: PriceCache;
  openPrices(): Promise<Prices>;
}

/** Counts the usage of an agent since the last hook on its task. */
export async function accountUsage(context: HookContext, session: LockedSession, source: UsageSource): Promise<void> {
  const { path, reader, model, agent } = source;
  // The task of the subagent has not started yet.
  if (agent !== undefined && session.state.agents[agent] === undefined) return;
  const marks = session.state.read ?? {};
  const key = findMarkKey(marks, agent ?? mainAgent, path);
  // The file of a subagent starts with the subagent; the file of a conversation may be older than the task.
  const newUsage = readNewUsage(path, marks[key], agent !== undefined && source.isOlder !== true, reader());
  if (newUsage === undefined) return;
  const id = agent === undefined ? session.state.task : session.state.agents[agent]?.task;
  const task = id === undefined || id === null || newUsage.used.length === 0 ? undefined : await session.loadTask(id);
  // The usage is counted once a task has begun.
  if (task === undefined && newUsage.used.length > 0 && source.skipsUncharged !== true) return;
  session.state = { ...session.state, read: addMark(marks, key, { ...newUsage.mark, path }) };
  if (task === undefined) return; // The task is gone, so the usage cannot be charged.
  const used = newUsage.used.map((usage) => (model === undefined ? usage : { model, ...usage }));
  await loadRates(context, source, used);
  for (const usage of used) observe(context.runtime, task.node, { type: 'usage', ...usage });
}

/** The key of the main agent's first file. */
const mainAgent = '';

/** The key of a file's mark. The first file of an agent has the agent's name: another file does not move its mark. */
function findMarkKey(marks: Readonly<Record<string, ReadMark>>, agent: string, path: string): string {
  const first = Object.hasOwn(marks, agent) ? marks[agent] : undefined;
  return first?.path === undefined || first.path === path ? agent : `${agent} ${path}`;
}

/** Adds a mark, last; the oldest ones are forgotten, but never that of the main agent's first file. */
function addMark(marks: Readonly<Record<string, ReadMark>>, key: string, mark: ReadMark) {
  const others = Object.entries(marks).filter(([of]) => of !== key && of !== mainAgent);
  const { [mainAgent]: main } = marks;
  const kept = [...others, ...(key === mainAgent ? [] : [[key, mark] as const])].slice(-hookAgentsMax);
  const first = key === mainAgent ? mark : main;
  return { ...(first && { [mainAgent]: first }), ...Object.fromEntries(kept) };
}

/** Loads unknown prices from the price book and caches them for the next hook. */
async function loadRates(
  { store }: HookContext,
  { cache, openPrices }: UsageSource,
  used: readonly NewUsage[],
): Promise<void> {
  const [row] = await store.shared.read(ratesKey, 1);
  if (row?.key === ratesKey) cache.merge(row.state as CachedRates);
  const before = cache.rates;
  for (const usage of used) if (!cache.has(usage)) cache.load(await openPrices(), usage);
  if (cache.rates === before) return;
  const cell = store.cell<CachedRates>(ratesKey, () => ({}), { keepMs: hookPricesKeepMs });
  const update = (stored: CachedRates) => {
    cache.merge(stored);
    return { state: cache.rates };
  };
  await store.shared.commit({ changes: [{ cell, update }] });
}

const ratesKey = 'hook-rates';
