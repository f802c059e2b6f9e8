/** The commands `switchgear chain list`, `show`, `cancel` and `resolve` for the runs of a store. */

import type { RunState } from '../../chains/run/state/run-state.ts';
import { isOver } from '../../chains/run/state/transitions.ts';
import { SwitchgearError } from '../../core/error.ts';
import { cancelChainRunFor, openChainRuns, resolveChainRunFor, resolveRunId } from '../../operator/chain-runs.ts';
import { sanitizeText } from '../../operator/format.ts';
import { quoteWord } from '../../platform/shell-programs.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { exitCodes, type ParsedArgs, readArgs, type Terminal, usageError, verbError } from '../command.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';
import {
  type CommandHints,
  describeRunEnd,
  formatDuration,
  formatRun,
  interruptedCell,
  isInterrupted,
  makeStatusCell,
} from './report.ts';

/** The options of later commands about a run on this store, quoted for a shell. */
export function makeCommandHints({ values }: ParsedArgs, clock: Clock): CommandHints {
  const option = (name: string, value: string | undefined) =>
    value === undefined ? '' : ` ${name} ${quoteForShell(value)}`;
  // The printed commands must not repeat a password.
  const storeOption = option('--store', values.get('--store')?.replace(/^(rediss?:\/\/[^:@/]*):[^/]*@/, '$1@'));
  return {
    clock,
    storeOption,
    resumeOptions: option('--policy', values.get('--policy')) + option('--mcp', values.get('--mcp')),
  };
}

function quoteForShell(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : quoteWord(text);
}

async function withChains<T>(
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  work: (store: CrossProcessStore) => Promise<T>,
): Promise<T> {
  const address = findStoreAddress(parsedArgs, terminal);
  if (!storeExists(address))
    throw new SwitchgearError(
      'unknown_run',
      `the store ${address.name} does not exist yet: nothing has used it, or --store names another one`,
    );
  return withStore(address, work);
}

export async function listChainRuns(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json', '--all'], 0, ['--store']);
  const { allRuns, atMs } = storeExists(findStoreAddress(parsedArgs, terminal))
    ? await withChains(parsedArgs, terminal, async (store) => ({
        allRuns: await openChainRuns(store).list(),
        atMs: store.clock.nowMs(),
      }))
    : { allRuns: [], atMs: 0 };
  const runs = allRuns
    .filter((run) => parsedArgs.switches.has('--all') || !isOver(run))
    .toSorted((left, right) => right.startedWallMs - left.startedWallMs);
  if (parsedArgs.switches.has('--json')) {
    terminal.out(JSON.stringify(runs, null, 2));
    return exitCodes.ok;
  }
  const rows = runs.map((run) => [
    { text: run.id },
    isInterrupted(run, atMs) ? interruptedCell : makeStatusCell(run.status),
    { text: run.chain },
    { text: `${run.passed} of ${run.steps} steps` },
    { text: `${formatDuration(Date.now() - run.startedWallMs)} ago` },
    { text: run.end?.message ?? describeInterruption(run, atMs), style: 'dim' as const },
  ]);
  for (const line of formatTable(rows, createPaint(terminal))) terminal.out(line);
  if (rows.length === 0) {
    const more = allRuns.length === 0 ? '' : `; switchgear chain list --all shows ${allRuns.length} that are over`;
    terminal.out(parsedArgs.switches.has('--all') ? 'There are no runs.' : `No run is under way${more}.`);
  }
  return exitCodes.ok;
}

/** What a list says of a run whose process is gone. */
function describeInterruption(run: Pick<RunState, 'id' | 'status' | 'owner'>, atMs: number): string {
  return isInterrupted(run, atMs) ? `its process is gone; switchgear chain resume ${run.id}` : '';
}

export async function showChainRun(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json', '--outputs'], 1, ['--store']);
  const name = requireRunId(parsedArgs, 'show');
  await withChains(parsedArgs, terminal, async (store) => {
    const chains = openChainRuns(store);
    const id = await resolveRunId(chains, name);
    const run = await chains.show(id);
    const outputs = parsedArgs.switches.has('--outputs') ? await chains.outputs(id) : undefined;
    if (parsedArgs.switches.has('--json'))
      terminal.out(JSON.stringify({ ...run, ...(outputs && { outputs }) }, null, 2));
    else
      for (const line of formatRun(run, outputs, makeCommandHints(parsedArgs, store.clock), createPaint(terminal)))
        terminal.out(line);
  });
  return exitCodes.ok;
}

export async function cancelChainRun(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json'], 1, ['--store', '--by']);
  const name = requireRunId(parsedArgs, 'cancel');
  await withChains(parsedArgs, terminal, async (store) => {
    const { clock } = store;
    const operator = await identifyOperator(store, parsedArgs, terminal, 'tighten');
    const run = await cancelChainRunFor(store, name, operator);
    terminal.out(
      parsedArgs.switches.has('--json')
        ? JSON.stringify(run, null, 2)
        : describeRunEnd(run, makeCommandHints(parsedArgs, clock)),
    );
  });
  return exitCodes.ok;
}

export async function resolveChainRun(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json'], 2, ['--store', '--by', '--output']);
  const name = requireRunId(parsedArgs, 'resolve');
  const how = parsedArgs.positionals[1];
  if (how !== 'done' && how !== 'redo') throw verbError('chain resolve ID', ['done', 'redo'], how);
  const output = parseOutput(parsedArgs, how);
  await withChains(parsedArgs, terminal, async (store) => {
    const { clock } = store;
    const operator = await identifyOperator(store, parsedArgs, terminal, 'loosen');
    const { by } = operator;
    const run = await resolveChainRunFor(store, name, { how, ...(output && { output: output.value }) }, operator);
    if (parsedArgs.switches.has('--json')) return terminal.out(JSON.stringify(run, null, 2));
    const { storeOption } = makeCommandHints(parsedArgs, clock);
    terminal.out(`Settled by ${sanitizeText(by)}. Go on: switchgear chain resume ${run.id}${storeOption}`);
  });
  return exitCodes.ok;
}

function requireRunId({ positionals }: ParsedArgs, verb: string): string {
  const [id] = positionals;
  if (id === undefined || id === '')
    throw usageError(`chain ${verb}: missing argument ID; switchgear chain list shows the ids`);
  return id;
}

function parseOutput({ values }: ParsedArgs, how: 'done' | 'redo'): { readonly value: unknown } | undefined {
  const text = values.get('--output');
  if (text === undefined) return undefined;
  if (how === 'redo') throw usageError('chain resolve: a step that is redone gives its own output');
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw usageError(`--output must be JSON, got ${JSON.stringify(text.slice(0, 200))}`);
  }
}
