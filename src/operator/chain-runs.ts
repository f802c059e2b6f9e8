/** Reads, cancels and resolves the runs of chains in a store. */

import { type Chains, createChains } from '../chains/run/chains.ts';
import type { RunState, StepState } from '../chains/run/state/run-state.ts';
import { isOver } from '../chains/run/state/transitions.ts';
import type { RunSummary } from '../chains/run/storage/runs.ts';
import { SwitchgearError } from '../core/error.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import type { Operator } from './authorize.ts';

/** A chain run as an operator sees it: without parameters, arguments and outputs. */
export type ChainRunView = Pick<RunState, 'id' | 'status' | 'startedWallMs' | 'endedWallMs' | 'end' | 'card'> & {
  readonly chain: string;
  readonly origin?: string;
  readonly steps: readonly (StepState & {
    /** The ability that the step calls. */
    readonly ability: string;
    /** Whether the step may run again if it is unknown whether it ran. */
    readonly idempotent: boolean;
  })[];
  /** The process that works on the run; absent if none does. */
  readonly worker?: { readonly pid: number; readonly machine: string };
};

/** The runs of a store without abilities, for all but running them. */
export function openChainRuns(store: CrossProcessStore): Chains {
  return createChains({ store, abilities: [], log: 'silent', env: {} });
}

/** Finds the full id of a run by its prefix. */
export async function resolveRunId(chains: Chains, id: string): Promise<string> {
  const ids = (await chains.list()).map((run) => run.id);
  if (ids.includes(id)) return id;
  const matches = ids.filter((each) => each.startsWith(id));
  if (matches.length === 1) return matches[0]!;
  const why = matches.length === 0 ? 'there is no run' : `${matches.length} runs begin with`;
  throw new SwitchgearError('unknown_run', `${why} ${JSON.stringify(id)}; switchgear chain list --all names them`);
}

/** Reads the runs, the newest first: those that are not over, or all. */
export async function readChainRuns(store: CrossProcessStore, all: boolean): Promise<readonly RunSummary[]> {
  const runs = await openChainRuns(store).list();
  return runs.filter((run) => all || !isOver(run)).toSorted((one, other) => other.startedWallMs - one.startedWallMs);
}

/** Reads one run by a prefix of its id. */
export async function readChainRun(store: CrossProcessStore, idPrefix: string): Promise<ChainRunView> {
  const chains = openChainRuns(store);
  return viewRun(await chains.show(await resolveRunId(chains, idPrefix)), store.clock.nowMs());
}

/** Stops a run in any process. */
export async function cancelChainRunFor(
  store: CrossProcessStore,
  idPrefix: string,
  { by }: Operator,
): Promise<RunState> {
  const chains = openChainRuns(store);
  return chains.cancel(await resolveRunId(chains, idPrefix), by);
}

/** Settles a step in doubt: it was done, with this output, or must run again. */
export async function resolveChainRunFor(
  store: CrossProcessStore,
  idPrefix: string,
  resolution: { readonly how: 'done' | 'redo'; readonly output?: unknown },
  { by }: Operator,
): Promise<RunState> {
  const chains = openChainRuns(store);
  const { how, output } = resolution;
  if (how === 'redo' && output !== undefined)
    throw new SwitchgearError('invalid_argument', 'a step that is redone gives its own output');
  return chains.resolve(await resolveRunId(chains, idPrefix), how, { by, ...(output !== undefined && { output }) });
}

function viewRun(run: RunState, atMs: number): ChainRunView {
  const { id, status, chain, origin, startedWallMs, endedWallMs, steps, end, card, owner } = run;
  const isOwned = owner !== undefined && owner.untilMs > atMs && !isOver(run);
  return {
    id,
    status,
    chain: chain.id,
    startedWallMs,
    steps: steps.map((step, at) => {
      const { ability = '', idempotent = false } = chain.steps[at] ?? {};
      return { ...step, ability, idempotent };
    }),
    ...(origin !== undefined && { origin }),
    ...(endedWallMs !== undefined && { endedWallMs }),
    ...(end !== undefined && { end }),
    ...(card !== undefined && { card }),
    ...(isOwned && { worker: { pid: owner.pid, machine: owner.machine } }),
  };
}
