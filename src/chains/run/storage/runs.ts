/** Runs as they lie in a store: what changes in one small cell, the plan and the outputs beside it. */

import { SwitchgearError } from '../../../core/error.ts';
import type { EntryBody } from '../../../core/event.ts';
import { chainRunsMax, journalEntriesMax, runKeepMs } from '../../../core/limits.ts';
import { quoted } from '../../../core/quote.ts';
import type { PendingEntry, Store } from '../../../ports/store.ts';
import type { RunState, StepState } from '../state/run-state.ts';
import { isOver, moveRun, type RunMove } from '../state/transitions.ts';
import { dropTexts, readText, textChanges, textKey } from './outputs.ts';
import { type CardChange, type Changed, change, type EntryListener, readValue, readValues } from './values.ts';

const prefix = 'chain/';

/** A run without what never changes; steps without their names, which the plan has. */
type Stored = Omit<RunState, keyof Plan | 'steps'> & {
  readonly chainId: string;
  readonly steps: readonly Omit<StepState, 'id'>[];
};

type Plan = Pick<RunState, 'chain' | 'params' | 'modelRules' | 'origin'>;

/** What goes with a move. */
export interface Beside {
  readonly card?: CardChange;
  readonly notes?: readonly EntryBody[];
  /** The output of a step, as text. */
  readonly output?: { readonly step: number; readonly text: string };
}

export type Moved =
  | { readonly status: 'committed'; readonly run: RunState }
  | Extract<Changed, { readonly status: 'rejected' | 'unavailable' }>;

/** A line of a list: enough to find a run again. */
export type RunSummary = Pick<
  RunState,
  'id' | 'status' | 'startedWallMs' | 'endedWallMs' | 'end' | 'card' | 'owner'
> & {
  readonly chain: string;
  /** Steps that are over, of all. */
  readonly passed: number;
  readonly steps: number;
};

/** Writes a new run; refused where there is one of that id. */
export async function createRun(store: Store, run: RunState, onEntry?: EntryListener): Promise<Moved> {
  if (store.shared === undefined) makeRoom(store);
  const stored = pack(run);
  const { chain } = run;
  const plan = planOf(run);
  const changed = await change(
    store,
    {
      values: [
        {
          key: runKey(run.id),
          keepMs: runKeepMs,
          step: (before) => {
            const known = before as Stored | null;
            if (known === null) return stored;
            return known.owner?.process === run.owner?.process ? known : undefined; // It was written by us, just now.
          },
        },
        ...textChanges(textKey(run.id, 'plan'), JSON.stringify(plan)),
      ],
      notes: [noteOf(store, run, { type: 'run-started', run: run.id, chain: chain.id })],
    },
    onEntry,
  );
  return changed.status === 'committed' ? { status: 'committed', run } : changed;
}

/** Moves a run that is known; what it becomes is decided on what is stored, not on what is known. */
export async function keepMove(
  store: Store,
  run: RunState,
  move: RunMove,
  beside: Beside = {},
  onEntry?: EntryListener,
): Promise<Moved> {
  const { card, notes = [], output } = beside;
  let next: RunState | undefined;
  const step = (before: unknown) => {
    if (before === null) return undefined;
    const known = unpack(before as Stored, run);
    next = moveRun(known, move);
    return next === undefined ? undefined : next === known ? before : pack(next);
  };
  const changed = await change(
    store,
    {
      values: [
        { key: runKey(run.id), keepMs: runKeepMs, step },
        ...(output === undefined ? [] : textChanges(textKey(run.id, output.step), output.text)),
      ],
      card,
      notes: notes.map((body) => noteOf(store, run, body)),
    },
    onEntry,
  );
  return changed.status === 'committed' ? { status: 'committed', run: next! } : changed;
}

/** The run of an id, or an error that says why there is none. */
export async function loadRun(store: Store, id: string): Promise<RunState> {
  const stored = await readValue<Stored>(store, runKey(id));
  const text = stored && (await readText(store, textKey(id, 'plan')));
  if (stored !== undefined && text !== undefined) return unpack(stored, JSON.parse(text) as Plan);
  const { shared } = store;
  if (shared?.health.state === 'degraded') {
    throw new SwitchgearError('store_away', `the run ${quoted(id)} cannot be read: ${shared.health.reason}`);
  }
  throw new SwitchgearError('unknown_run', `there is no run ${quoted(id)} in this store`);
}

/** What is stored of a run now, where its plan is known; undefined where it cannot be read. */
export async function lookAtRun(store: Store, run: RunState): Promise<RunState | undefined> {
  const stored = await readValue<Stored>(store, runKey(run.id));
  return stored && unpack(stored, run);
}

/** Runs of the store, the newest first. */
export async function listRuns(store: Store): Promise<readonly RunSummary[]> {
  const all = await readValues<Stored>(store, prefix, journalEntriesMax);
  return all
    .map(({ value }) => lineOf(value))
    .toSorted((one, other) => other.startedWallMs - one.startedWallMs)
    .slice(0, chainRunsMax);
}

/** The output of a step; undefined where it has none. */
export async function readOutput(store: Store, run: string, step: number): Promise<unknown> {
  const text = await readText(store, textKey(run, step));
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/** The key of the cell that hints name. */
export function runKey(id: string): string {
  return prefix + encodeURIComponent(id);
}

function noteOf({ clock }: Store, { id, chain }: RunState, body: EntryBody): PendingEntry {
  return { body, place: { task: id, agent: chain.id }, atMs: clock.nowMs() };
}

function planOf({ chain, params, modelRules, origin }: Plan): Plan {
  return { chain, params, modelRules, ...(origin !== undefined && { origin }) };
}

function pack({ chain, params: _, modelRules: __, origin: ___, steps, ...rest }: RunState): Stored {
  return { ...rest, chainId: chain.id, steps: steps.map(({ id: ____, ...step }) => step) };
}

function unpack({ chainId: _, steps, ...rest }: Stored, plan: Plan): RunState {
  return {
    ...rest,
    ...planOf(plan),
    steps: plan.chain.steps.map(({ id }, at) => ({ id, ...(steps[at] ?? { status: 'pending', attempts: 0 }) })),
  };
}

function lineOf({ id, status, startedWallMs, endedWallMs, end, card, owner, steps, chainId }: Stored): RunSummary {
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

/** Nobody else keeps what lies in this process's memory: the oldest runs that are over go first. */
function makeRoom(store: Store): void {
  const keys = [...store.keys()].filter((key) => key.startsWith(prefix));
  if (keys.length < chainRunsMax) return;
  for (const key of keys) {
    const { value } = store.cell<{ value: Stored | null }>(key, () => ({ value: null })).state;
    if (value !== null && !isOver(value)) continue;
    store.drop(key);
    dropTexts(store, value?.id ?? '');
    return;
  }
}
