/** `switchgear chain list`, `show`, `cancel` and `resolve`: the runs on a store. */

import { userName } from '../../approvers/user-name.ts';
import { type Chains, createChains } from '../../chains/run/chains.ts';
import { isOver } from '../../chains/run/state/transitions.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { Clock } from '../../ports/clock.ts';
import { exitCodes, type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { type CrossProcessStore, findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { createPaint, formatTable, sanitizeText } from '../terminal-table.ts';
import { formatDuration, lastWords, type Reach, runPage, statusCell } from './report.ts';

/** How a run on this store is reached again: with what was said, which a shell must take as one word. */
export function reachOf({ values }: ParsedArgs, clock: Clock): Reach {
  const option = (name: string, value: string | undefined) => (value === undefined ? '' : ` ${name} ${word(value)}`);
  const options = option('--store', values.get('--store'));
  return { clock, options, more: option('--policy', values.get('--policy')) + option('--mcp', values.get('--mcp')) };
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
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  work: (chains: Chains, clock: Clock) => Promise<T>,
): Promise<T> {
  const address = findStoreAddress(parsedArgs, terminal);
  if (!storeExists(address)) throw new SwitchgearError('unknown_run', `nobody has used the store ${address.name} yet`);
  return withStore(address, (store) => work(withoutAbilities(store), store.clock));
}

export async function listChains(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json', '--all'], 0, ['--store']);
  const all = storeExists(findStoreAddress(parsedArgs, terminal))
    ? await withRuns(parsedArgs, terminal, (chains) => chains.list())
    : [];
  const runs = all
    .filter((run) => parsedArgs.switches.has('--all') || !isOver(run))
    .toSorted((one, other) => other.startedWallMs - one.startedWallMs);
  if (parsedArgs.switches.has('--json')) {
    terminal.out(JSON.stringify(runs, null, 2));
    return exitCodes.ok;
  }
  const rows = runs.map(({ id, chain, status, passed, steps, startedWallMs, end }) => [
    { text: id },
    statusCell(status),
    { text: chain },
    { text: `${passed} of ${steps} steps` },
    { text: `${formatDuration(Date.now() - startedWallMs)} ago` },
    { text: end?.message ?? '', style: 'dim' as const },
  ]);
  for (const line of formatTable(rows, createPaint(terminal))) terminal.out(line);
  if (rows.length === 0) {
    const more = all.length === 0 ? '' : `; switchgear chain list --all shows ${all.length} that are over`;
    terminal.out(parsedArgs.switches.has('--all') ? 'There are no runs.' : `No run is under way${more}.`);
  }
  return exitCodes.ok;
}

export async function showChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json', '--outputs'], 1, ['--store']);
  const name = idIn(parsedArgs, 'show');
  await withRuns(parsedArgs, terminal, async (chains, clock) => {
    const id = await fullId(chains, name);
    const run = await chains.show(id);
    const outputs = parsedArgs.switches.has('--outputs') ? await chains.outputs(id) : undefined;
    if (parsedArgs.switches.has('--json'))
      terminal.out(JSON.stringify({ ...run, ...(outputs && { outputs }) }, null, 2));
    else
      for (const line of runPage(run, outputs, reachOf(parsedArgs, clock), createPaint(terminal))) terminal.out(line);
  });
  return exitCodes.ok;
}

export async function cancelChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json'], 1, ['--store', '--by']);
  const name = idIn(parsedArgs, 'cancel');
  await withRuns(parsedArgs, terminal, async (chains, clock) => {
    const run = await chains.cancel(await fullId(chains, name), byWhom(parsedArgs));
    terminal.out(
      parsedArgs.switches.has('--json') ? JSON.stringify(run, null, 2) : lastWords(run, reachOf(parsedArgs, clock)),
    );
  });
  return exitCodes.ok;
}

export async function resolveChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json'], 2, ['--store', '--by', '--output']);
  const name = idIn(parsedArgs, 'resolve');
  const how = parsedArgs.positionals[1];
  if (how !== 'done' && how !== 'redo') throw usageError('chain resolve: say whether it was done, or is to be redone');
  const output = outputIn(parsedArgs, how);
  await withRuns(parsedArgs, terminal, async (chains, clock) => {
    const by = byWhom(parsedArgs);
    const run = await chains.resolve(await fullId(chains, name), how, { by, ...(output && { output: output.value }) });
    if (parsedArgs.switches.has('--json')) return terminal.out(JSON.stringify(run, null, 2));
    const { options } = reachOf(parsedArgs, clock);
    terminal.out(`Settled by ${sanitizeText(by)}. Go on: switchgear chain resume ${run.id}${options}`);
  });
  return exitCodes.ok;
}

function idIn({ positionals }: ParsedArgs, verb: string): string {
  const [id] = positionals;
  if (id === undefined || id === '') throw usageError(`chain ${verb}: say which run; switchgear chain list names them`);
  return id;
}

function outputIn({ values }: ParsedArgs, how: 'done' | 'redo'): { readonly value: unknown } | undefined {
  const text = values.get('--output');
  if (text === undefined) return undefined;
  if (how === 'redo') throw usageError('chain resolve: a step that is redone gives its own output');
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw usageError(`--output must be JSON, got ${JSON.stringify(text.slice(0, 200))}`);
  }
}

function byWhom({ values }: ParsedArgs): string {
  return values.get('--by') ?? userName();
}
