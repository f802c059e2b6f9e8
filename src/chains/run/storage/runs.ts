/** Stores runs: the changing state in one small cell, the plan and the outputs in cells beside it. */

import { SwitchgearError } from '../../../core/error.ts';
import type { EntryBody } from '../../../core/event.ts';
import { chainRunsMax, journalEntriesMax, runKeepMs } from '../../../core/limits.ts';
import { quoteValue } from '../../../core/quote.ts';
import type { PendingEntry, Store } from '../../../ports/store.ts';
import type { RunState, StepState } from '../state/run-state.ts';
import { applyTransition, isOver, type RunTransition } from '../state/transitions.ts';
import { dropTexts, makeTextChanges, readStoredText, textKey } from './stored-text.ts';
import {
  applyChanges,
  type CardChange,
  type ChangeResult,
  type EntryListener,
  readValue,
  readValues,
} from './values.ts';

const prefix = 'chain/';

/** The changing part of a run; the plan has the rest, and the names of the steps. */
type StoredRun = Omit<RunState, keyof Plan | 'steps'> & {
  readonly chainId: string;
  readonly steps: readonly Omit<StepState, 'id'>[];
};

type Plan = Pick<RunState, 'chain' | 'params' | 'modelRules' | 'origin'>;

/** Values that are written together with a transition. */
export interface RunWriteExtras {
  readonly card?: CardChange;
  readonly entries?: readonly EntryBody[];
  /** The output of a step, as text. */
  readonly output?: { readonly step: number; readonly text: string };
}

export type RunWriteResult =
  | { readonly status: 'committed'; readonly run: RunState }
  | Extract<ChangeResult, { readonly status: 'rejected' | 'unavailable' }>;

/** A run in a list of runs. */
export type RunSummary = Pick<
  RunState,
  'id' | 'status' | 'startedWallMs' | 'endedWallMs' | 'end' | 'card' | 'owner'
> & {
  readonly chain: string;
  /** The number of finished steps. */
  readonly passed: number;
  readonly steps: number;
};

/** Writes a new run; rejected if the id exists. */
export async function createRun(store: Store, run: RunState, onEntry?: EntryListener): Promise<RunWriteResult> {
  if (store.shared === undefined) evictOldestRun(store);
  const stored = pack(run);
  const { chain } = run;
  const plan = pickPlan(run);
  const result = await applyChanges(
    store,
    {
      values: [
        {
          key: runKey(run.id),
          keepMs: runKeepMs,
          update: (before) => {
            const current = before as StoredRun | null;
            if (current === null) return stored;
            // A repeated write of the same owner.
            return current.owner?.process === run.owner?.process ? current : undefined;
          },
        },
        ...makeTextChanges(store, textKey(run.id, 'plan'), JSON.stringify(plan)),
      ],
      entries: [makePendingEntry(store, run, { type: 'run-started', run: run.id, chain: chain.id })],
    },
    onEntry,
  );
  return result.status === 'committed' ? { status: 'committed', run } : result;
}

/** Applies a transition to the stored state of a run, which may be newer than the caller's. */
export async function updateRun(
  store: Store,
  run: RunState,
  transition: RunTransition,
  extras: RunWriteExtras = {},
  onEntry?: EntryListener,
): Promise<RunWriteResult> {
  const { card, entries = [], output } = extras;
  let next: RunState | undefined;
  const computeNext = (before: unknown) => {
    if (before === null) return undefined;
    const current = unpack(before as StoredRun, run);
    next = applyTransition(current, transition);
    return next === undefined ? undefined : next === current ? before : pack(next);
  };
  const result = await applyChanges(
    store,
    {
      values: [
        { key: runKey(run.id), keepMs: runKeepMs, update: computeNext },
        ...(output === undefined ? [] : makeTextChanges(store, textKey(run.id, output.step), output.text)),
      ],
      card,
      entries: entries.map((body) => makePendingEntry(store, run, body)),
    },
    onEntry,
  );
  return result.status === 'committed' ? { status: 'committed', run: next! } : result;
}

/** Reads a run by its id; throws if there is none. */
export async function loadRun(store: Store, id: string): Promise<RunState> {
  const stored = await readValue<StoredRun>(store, runKey(id));
  const text = stored && (await readStoredText(store, textKey(id, 'plan')));
  if (stored !== undefined && text !== undefined) return unpack(stored, JSON.parse(text) as Plan);
  const { shared } = store;
  if (shared?.health.state === 'degraded') {
    throw new SwitchgearError('store_away', `the run ${quoteValue(id)} cannot be read: ${shared.health.reason}`);
  }
  throw new SwitchgearError('unknown_run', `there is no run ${quoteValue(id)} in this store`);
}

/** Reads the stored state of a run whose plan is known; returns undefined if the state cannot be read. */
export async function reloadRun(store: Store, run: RunState): Promise<RunState | undefined> {
  const stored = await readValue<StoredRun>(store, runKey(run.id));
  return stored && unpack(stored, run);
}

/** Lists the runs of the store, the newest first. */
export async function listRuns(store: Store): Promise<readonly RunSummary[]> {
  const all = await readValues<StoredRun>(store, prefix, journalEntriesMax);
  return all
    .map(({ value }) => summarizeRun(value))
    .toSorted((a, b) => b.startedWallMs - a.startedWallMs)
    .slice(0, chainRunsMax);
}

/** The output of a step; undefined if the step has none. */
export async function readOutput(store: Store, run: string, step: number): Promise<unknown> {
  const text = await readStoredText(store, textKey(run, step));
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/** The key of a run's cell, as `cell-changed` hints name it. */
export function runKey(id: string): string {
  return prefix + encodeURIComponent(id);
}

function makePendingEntry({ clock }: Store, { id, chain }: RunState, body: EntryBody): PendingEntry {
  return { body, place: { task: id, agent: chain.id }, atMs: clock.nowMs() };
}

function pickPlan({ chain, params, modelRules, origin }: Plan): Plan {
  return { chain, params, modelRules, ...(origin !== undefined && { origin }) };
}

function pack({ chain, params: _, modelRules: __, origin: ___, steps, ...rest }: RunState): StoredRun {
  return { ...rest, chainId: chain.id, steps: steps.map(({ id: ____, ...step }) => step) };
}

function unpack({ chainId: _, steps, ...rest }: StoredRun, plan: Plan): RunState {
  return {
    ...rest,
    ...pickPlan(plan),
    steps: plan.chain.steps.map(({ id }, at) => ({ id, ...(steps[at] ?? { status: 'pending', attempts: 0 }) })),
  };
}

function summarizeRun({
  id,
  status,
  startedWallMs,
  endedWallMs,
  end,
  card,
  owner,
  steps,
  chainId,
}: StoredRun): RunSummary {
  return {
    id,
    status,
    chain: chainId,
    startedWallMs,
    ...(endedWallMs !== undefined && { endedWallMs }),
    ...(end !== undefined && { end }),
    ...(card !== undefined && { card }),
    ...(owner !== undefined && { owner }),
    passed: steps.filter((step) => step.status === 'done' || step.status === 'skipped').length,
    steps: steps.length,
  };
}

/** Evicts the oldest finished run from a full memory store. */
function evictOldestRun(store: Store): void {
  const keys = [...store.keys()].filter((key) => key.startsWith(prefix));
  if (keys.length < chainRunsMax) return;
  for (const key of keys) {
    const { value } = store.cell<{ value: StoredRun | null }>(key, () => ({ value: null })).state;
    if (value !== null && !isOver(value)) continue;
    store.drop(key);
    dropTexts(store, value?.id ?? '');
    return;
  }
}
