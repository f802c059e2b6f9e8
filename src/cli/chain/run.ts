/** The commands `switchgear chain run` and `chain resume`: run a chain and print its progress. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { cardApprover } from '../../approvers/card-approver.ts';
import { firstAnswer } from '../../approvers/first-answer.ts';
import { terminalApprover as atTerminal } from '../../approvers/terminal-approver.ts';
import type { AbilitySource } from '../../chains/abilities/ability.ts';
import { chainError, formatProblem } from '../../chains/file/problem.ts';
import { readChain, readChainText } from '../../chains/file/read-chain.ts';
import { type Chains, createChains } from '../../chains/run/chains.ts';
import type { RunState } from '../../chains/run/state/run-state.ts';
import { SwitchgearError } from '../../core/error.ts';
import { runCallsVariable } from '../../guard/internal.ts';
import { openChainRuns, resolveRunId } from '../../operator/chain-runs.ts';
import { sanitizeText } from '../../operator/format.ts';
import type { CheckedPolicy } from '../../policy/index.ts';
import type { Approver } from '../../ports/approver.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { placeProcess } from '../../supervisor/guarded-agents.ts';
import { exitCodes, type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { reportCommandStore } from '../guarding-store.ts';
import { loadEffectivePolicy, placeOfCommand } from '../policy/load-policy.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { describeReadError } from '../process-terminal.ts';
import { parseLeftBehindOptions } from '../run/options.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { collectAbilitySources } from './abilities.ts';
import { createLiveOutput } from './live-output.ts';
import { describeRunEnd, exitCodeFor } from './report.ts';
import { makeCommandHints } from './runs.ts';

const knownSwitches = ['--json', '--explain', '--no-wait', '--verbose', '--leave', '--wait-tree'];
const valueOptions = ['--store', '--policy', '--mcp', '--grace'];

/** Error codes of a run that never started. */
const usageErrorCodes = new Set([
  'ability_off',
  'invalid_argument',
  'invalid_chain',
  'invalid_mcp_config',
  'invalid_params',
  'invalid_plan',
  'invalid_policy',
  'run_exists',
  'run_over',
  'unknown_ability',
  'unknown_run',
]);

export async function runChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const { params, rest } = extractParams(args);
  const parsedArgs = readArgs(rest, knownSwitches, 1, [...valueOptions, '--plan', '--id']);
  const [file] = parsedArgs.positionals;
  if (file === undefined) throw usageError('chain run: missing argument FILE');
  return reportUsageErrors(terminal, async () => {
    const path = resolve(terminal.cwd, file);
    const { policy } = await loadChainPolicy(parsedArgs, terminal);
    const { chain, problems, warnings } = readChain(readChainText(path, file), file, policy.settings.ruleSettings);
    if (chain === undefined) throw chainError(file, problems);
    for (const each of warnings) terminal.err(sanitizeText(`warning: ${formatProblem(each, file)}`));
    const modelText = readPlan(parsedArgs, terminal);
    const id = parsedArgs.values.get('--id');
    const sources = findSources(parsedArgs, terminal, policy, dirname(path));
    const runOptions = { ...(id !== undefined && { id }), ...(modelText && { modelText }), origin: path };
    return runInStore(
      parsedArgs,
      terminal,
      policy,
      async () => sources,
      (chains, signal, wait) => chains.run(chain, params, { ...runOptions, signal, wait }),
    );
  });
}

function loadChainPolicy(parsedArgs: ParsedArgs, terminal: Terminal) {
  return loadEffectivePolicy(parsedArgs.values.get('--policy'), terminal, placeOfCommand(terminal, parsedArgs));
}

export async function resumeChain(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, knownSwitches, 1, valueOptions);
  const [id] = parsedArgs.positionals;
  if (id === undefined) throw usageError('chain resume: missing argument ID; switchgear chain list shows the ids');
  return reportUsageErrors(terminal, async () => {
    const { policy } = await loadChainPolicy(parsedArgs, terminal);
    const sources = async (store: CrossProcessStore) => {
      const { origin } = await openChainRuns(store).show(await resolveRunId(openChainRuns(store), id));
      return findSources(parsedArgs, terminal, policy, findChainFolder(origin, terminal));
    };
    return runInStore(parsedArgs, terminal, policy, sources, async (chains, signal, wait) =>
      chains.resume(await resolveRunId(chains, id), { signal, wait }),
    );
  });
}

/** The folder of a run's chain file, which has the file of MCP servers and in which commands run. */
function findChainFolder(origin: string | undefined, { cwd, err }: Terminal): string {
  if (origin === undefined) return cwd;
  const folder = dirname(origin);
  if (existsSync(folder)) return folder;
  err(sanitizeText(`warning: the folder of the chain, ${folder}, does not exist here: continuing in ${cwd}`));
  return cwd;
}

function findSources(parsedArgs: ParsedArgs, terminal: Terminal, { settings }: CheckedPolicy, folder: string) {
  const { values, switches } = parsedArgs;
  if (switches.has('--leave') && switches.has('--wait-tree'))
    throw usageError('chain: use one of --leave and --wait-tree');
  const { graceMs, leftBehind } = parseLeftBehindOptions(parsedArgs);
  const options = {
    mcp: values.get('--mcp'),
    isVerbose: switches.has('--verbose'),
    shell: { graceSecs: graceMs / 1000, leftBehind },
  };
  return collectAbilitySources(options, folder, settings.abilities, terminal);
}

/** Prepares a run, runs it, and reports its end. */
async function runInStore(
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  policy: CheckedPolicy,
  sources: (store: CrossProcessStore) => Promise<readonly AbilitySource[]>,
  start: (chains: Chains, signal: AbortSignal, wait: boolean) => Promise<RunState>,
): Promise<number> {
  const { switches } = parsedArgs;
  const isText = !switches.has('--json');
  await reportCommandStore('it counts in a store of its own', parsedArgs, terminal);
  return withStore(findStoreAddress(parsedArgs, terminal), async (store) => {
    const stop = new AbortController();
    const hints = makeCommandHints(parsedArgs, store.clock);
    const abilities = await sources(store);
    const chains = createChains({
      policy,
      // The policy has the environment in it already, without the variables that are not taken below an agent.
      env: { [runCallsVariable]: terminal.env[runCallsVariable] },
      store,
      approver: await createApprover(parsedArgs, terminal, store, stop),
      log: switches.has('--verbose') ? terminal.err : 'silent',
      abilities,
      ...(isText && {
        onRun: createLiveOutput(terminal, { explain: switches.has('--explain'), storeOption: hints.storeOption }),
      }),
    });
    const stopListening = cancelOnSignals(stop, terminal);
    try {
      const run = await start(chains, stop.signal, !switches.has('--no-wait'));
      terminal.out(isText ? describeRunEnd(run, hints) : JSON.stringify(run, null, 2));
      return exitCodeFor(run);
    } finally {
      await chains.close();
      stopListening();
    }
  });
}

/** Asks at the terminal, if there is one, and in the inbox. Leaving the terminal at a question cancels the run. */
async function createApprover(
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  store: CrossProcessStore,
  stop: AbortController,
): Promise<Approver> {
  const { input, err, env } = terminal;
  const { kind } = await placeProcess(store, env);
  // The terminal of a guarded agent is no place to ask a person.
  if (input === undefined || kind === 'guarded') return cardApprover({ store });
  // A process that an agent may have started must prove that a person is at its terminal, as every answer must.
  if (kind === 'unknown' && !(await hasOperator(store, parsedArgs, terminal))) return cardApprover({ store });
  const terminalApprover = atTerminal({ input });
  return firstAnswer(
    {
      ...terminalApprover,
      ask: (card, signal) =>
        terminalApprover.ask(card, signal).catch((error: unknown) => {
          if (signal.aborted) throw error;
          err(''); // Ends the line of the unanswered question.
          stop.abort(new Error('the terminal was closed while a question was open'));
          throw error;
        }),
    },
    cardApprover({ store }),
  );
}

async function hasOperator(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<boolean> {
  try {
    await identifyOperator(store, parsedArgs, terminal, 'loosen');
    return true;
  } catch (error) {
    if (!(error instanceof SwitchgearError) || error.code !== 'operator_required') throw error;
    terminal.err(`switchgear: questions are asked in the inbox only: ${error.message}`);
    return false;
  }
}

/** Ctrl-C and other signals cancel the run and end its processes; a second signal exits at once. */
function cancelOnSignals(stop: AbortController, { err }: Terminal): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const cancel = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(exitCodes.error);
    err(`${signal}: the run is being cancelled.`);
    stop.abort(new Error(`cancelled by ${signal}`));
  };
  for (const signal of signals) process.on(signal, cancel);
  return () => {
    for (const signal of signals) process.off(signal, cancel);
  };
}

/** Reports usage errors with their exit code; other errors pass through. */
async function reportUsageErrors(terminal: Terminal, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SwitchgearError) || !usageErrorCodes.has(error.code)) throw error;
    for (const line of error.message.split('\n')) terminal.err(`switchgear: ${sanitizeText(line)}`);
    return exitCodes.usage;
  }
}

/** Extracts all `--param name=value` options from the arguments. */
function extractParams(args: readonly string[]) {
  const params: Record<string, string> = Object.create(null) as Record<string, string>;
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg !== '--param' && !arg.startsWith('--param=')) {
      rest.push(arg);
      continue;
    }
    const text = arg === '--param' ? args[++at] : arg.slice('--param='.length);
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text ?? '') ?? [];
    if (name === undefined) throw usageError(`--param needs NAME=VALUE, got ${JSON.stringify(text ?? '')}`);
    if (Object.hasOwn(params, name)) throw usageError(`--param ${name} is given twice`);
    params[name] = value;
  }
  return { params, rest };
}

/** Reads the plan of a model, whose rules can only make the policy stricter. */
function readPlan({ values }: ParsedArgs, { cwd }: Terminal): string | undefined {
  const file = values.get('--plan');
  if (file === undefined) return undefined;
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new SwitchgearError('invalid_plan', `${file}: the file cannot be read: ${describeReadError(error)}`);
  }
}
