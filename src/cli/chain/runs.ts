/** `switchgear chain list`, `show`, `cancel` and `resolve`: the runs on a store. */

import { userName } from '../../approvers/user-name.ts';
import { type Chains, createChains } from '../../chains/run/chains.ts';
import { isOver } from '../../chains/run/state/transitions.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { Clock } from '../../ports/clock.ts';
import { exitCodes, readArgs, type Said, type Terminal, usageError } from '../command.ts';
import { type CrossProcessStore, findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { painter, plain, table } from '../terminal-table.ts';
import { duration, lastWords, type Reach, runPage, statusCell } from './report.ts';

/** How a run on this store is reached again: with what was said, which a shell must take as one word. */
export function reachOf({ given }: Said, clock: Clock): Reach {
  const option = (name: string, value: string | undefined) => (value === undefined ? '' : ` ${name} ${word(value)}`);
  const options = option('--store', given.get('--store'));
  return { clock, options, more: option('--policy', given.get('--policy')) + option('--mcp', given.get('--mcp')) };
}

function word(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The id of a run that was named by its beginning. */
export async function fullId(chains: Chains, id: string): Promise<string> {
  const ids = (await chains.list()).map((run) => run.id);
  if (ids.includes(id)) return id;
  const fitting = ids.filter((each) => each.startsWith(id));
  if (fitting.length === 1) return fitting[0]!;
  const why = fitting.length === 0 ? 'there is no run' : `${fitting.length} runs begin with`;
  throw new SwitchgearError('unknown_run', `${why} ${JSON.stringify(id)}; switchgear chain list --all names them`);
}

/** The runs of a store, for whoever looks at them: nothing can be done there by anybody's abilities. */
export function withoutAbilities(store: CrossProcessStore): Chains {
  return createChains({ store, abilities: [], log: 'silent', env: {} });
}

async function withRuns<T>(
  said: Said,
  terminal: Terminal,
  work: (chains: Chains, clock: Clock) => Promise<T>,
): Promise<T> {
  const address = findStoreAddress(said, terminal);
  if (!storeExists(address)) throw new SwitchgearError('unknown_run', `nobody has used the store ${address.name} yet`);
  return withStore(address, (store) => work(withoutAbilities(store), store.clock));
}

export async function listChains(args: readonly string[], terminal: Terminal): Promise<number> {
  const said = readArgs(args, ['--json', '--all'], 0, ['--store']);
  const all = storeExists(findStoreAddress(said, terminal))
    ? await withRuns(said, terminal, (chains) => chains.list())
    : [];
  const runs = all
    .filter((run) => said.on.has('--all') || !isOver(run))
    .toSorted((one, other) => other.startedWallMs - one.startedWallMs);
  if (said.on.has('--json')) {
    terminal.out(JSON.stringify(runs, null, 2));
    return exitCodes.ok;
  }
  const rows = runs.map(({ id, chain, status, passed, steps, startedWallMs, end }) => [
    { text: id },
    statusCell(status),
    { text: chain },
    { text: `${passed} of ${steps} steps` },
    { text: `${duration(Date.now() - startedWallMs)} ago` },
    { text: end?.message ?? '', style: 'dim' as const },
  ]);
  for (const line of table(rows, painter(terminal))) terminal.out(line);
  if (rows.length === 0) {
    const more = all.length === 0 ? '' : `; switchgear chain list --all shows ${all.length} that are over`;
    terminal.out(said.on.has('--all') ? 'There are no runs.' : `No run is under way${more}.`);
  }
  return exitCodes.ok;
}

export async function showChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const said = readArgs(args, ['--json', '--outputs'], 1, ['--store']);
  const name = idIn(said, 'show');
  await withRuns(said, terminal, async (chains, clock) => {
    const id = await fullId(chains, name);
    const run = await chains.show(id);
    const outputs = said.on.has('--outputs') ? await chains.outputs(id) : undefined;
    if (said.on.has('--json')) terminal.out(JSON.stringify({ ...run, ...(outputs && { outputs }) }, null, 2));
    else for (const line of runPage(run, outputs, reachOf(said, clock), painter(terminal))) terminal.out(line);
  });
  return exitCodes.ok;
}

export async function cancelChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const said = readArgs(args, ['--json'], 1, ['--store', '--by']);
  const name = idIn(said, 'cancel');
  await withRuns(said, terminal, async (chains, clock) => {
    const run = await chains.cancel(await fullId(chains, name), byWhom(said));
    terminal.out(said.on.has('--json') ? JSON.stringify(run, null, 2) : lastWords(run, reachOf(said, clock)));
  });
  return exitCodes.ok;
}

export async function resolveChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const said = readArgs(args, ['--json'], 2, ['--store', '--by', '--output']);
  const name = idIn(said, 'resolve');
  const how = said.words[1];
  if (how !== 'done' && how !== 'redo') throw usageError('chain resolve: say whether it was done, or is to be redone');
  const output = outputIn(said, how);
  await withRuns(said, terminal, async (chains, clock) => {
    const by = byWhom(said);
    const run = await chains.resolve(await fullId(chains, name), how, { by, ...(output && { output: output.value }) });
    if (said.on.has('--json')) return terminal.out(JSON.stringify(run, null, 2));
    const { options } = reachOf(said, clock);
    terminal.out(`Settled by ${plain(by)}. Go on: switchgear chain resume ${run.id}${options}`);
  });
  return exitCodes.ok;
}

function idIn({ words }: Said, verb: string): string {
  const [id] = words;
  if (id === undefined || id === '') throw usageError(`chain ${verb}: say which run; switchgear chain list names them`);
  return id;
}

function outputIn({ given }: Said, how: 'done' | 'redo'): { readonly value: unknown } | undefined {
  const text = given.get('--output');
  if (text === undefined) return undefined;
  if (how === 'redo') throw usageError('chain resolve: a step that is redone gives its own output');
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw usageError(`--output must be JSON, got ${JSON.stringify(text.slice(0, 200))}`);
  }
}

function byWhom({ given }: Said): string {
  return given.get('--by') ?? userName();
}
