/** Starts, resumes, lists, cancels and resolves runs of chains on one store. */

import { randomBytes } from 'node:crypto';
import { parseNyaya } from '../../core/controls/rules/nyaya.ts';
import { printRule } from '../../core/controls/rules/rule.ts';
import { SwitchgearError } from '../../core/error.ts';
import { abilityOutputBytesMax } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import type { SwitchgearOptions } from '../../guard/api.ts';
import { createSwitchgear } from '../../guard/create-switchgear.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import { memoryStore } from '../../stores/memory.ts';
import type { AbilitySource } from '../abilities/ability.ts';
import type { Chain } from '../file/chain.ts';
import { checkChain } from '../file/check-chain.ts';
import { readParams } from '../file/params.ts';
import { chainFileOf } from '../file/read-chain.ts';
import { expireCard } from './approval/stored-card.ts';
import { createOwner, isOwnerGone } from './ownership.ts';
import { resolveAbilities } from './resolve-abilities.ts';
import { buildChainRules, continueRun, type Runner } from './runner.ts';
import type { RunListener } from './state/run-event.ts';
import type { RunState } from './state/run-state.ts';
import { findOpenStep, isOver } from './state/transitions.ts';
import {
  createRun,
  listRuns,
  loadRun,
  type RunSummary,
  type RunWriteResult,
  readOutput,
  updateRun,
} from './storage/runs.ts';

/** Options of `createChains`. */
export interface ChainsOptions extends SwitchgearOptions {
  /** Sources of abilities; the first source that has a name provides it. */
  readonly abilities: readonly AbilitySource[];
  /**
   * Receives the events of runs as they happen.
   * @default none
   */
  readonly onRun?: RunListener;
}

/** Options of one run. */
export interface RunOptions {
  /**
   * The id of the run; an id that exists already is refused.
   * @default a new id
   */
  readonly id?: string;
  /**
   * The text of a model with a `<nyaya>` block; its rules can only tighten the policy.
   * @default none
   */
  readonly modelText?: string;
  /**
   * The path of the chain file, stored for a later resume; standing approvals hold for this file only.
   * @default the path that `loadChain` read, or none
   */
  readonly origin?: string;
  /**
   * Cancels the run when aborted.
   * @default none
   */
  readonly signal?: AbortSignal;
  /**
   * False leaves a run that asks a person in the status `waiting`; resume the run after the answer.
   * @default true
   */
  readonly wait?: boolean;
}

/** How to settle a step whose outcome is unknown. */
export interface ResolveOptions {
  /** The person who resolves the step. */
  readonly by: string;
  /**
   * The output of the step, if it was done.
   * @default none
   */
  readonly output?: unknown;
}

/** Starts, resumes, lists and cancels runs of chains. */
export interface Chains {
  /**
   * Runs a chain to its end, or until it has to stop; the returned state says where. A chain from code is checked like
   * a file: rejects with `invalid_chain` and every problem.
   */
  run(chain: Chain, params?: Readonly<Record<string, unknown>>, options?: RunOptions): Promise<RunState>;
  /** Resumes a run whose process is gone, that waits for an answer, or that was throttled. */
  resume(id: string, options?: Pick<RunOptions, 'signal' | 'wait'>): Promise<RunState>;
  /** The runs in the store. */
  list(): Promise<readonly RunSummary[]>;
  /** The state of a run. Throws `unknown_run` if the id is unknown. */
  show(id: string): Promise<RunState>;
  /** The outputs of a run, by step. */
  outputs(id: string): Promise<Readonly<Record<string, unknown>>>;
  /** Stops a run in any process. */
  cancel(id: string, by: string): Promise<RunState>;
  /** Resolves a step in doubt as done, or as not done so that it runs again. Then the run can be resumed. */
  resolve(id: string, how: 'done' | 'redo', options: ResolveOptions): Promise<RunState>;
  /** Ends the processes and connections of abilities. The store stays open. */
  close(): Promise<void>;
}

/**
 * Creates a runner of chains.
 * @example
 * import { createChains, functionAbilities, loadChain } from 'switchgear/chains';
 *
 * const chains = createChains({ abilities: [functionAbilities({ 'mail.send': ({ to }) => `sent to ${to}` })] });
 * const run = await chains.run(loadChain('digest.yaml'), { to: 'ada@example.com' });
 * console.log(run.status, run.end?.message);
 * await chains.close();
 */
export function createChains(options: ChainsOptions): Chains {
  const { abilities: sources, onRun, ...gearOptions } = options;
  const clock = options.store?.clock ?? options.clock ?? systemClock; // Processes that share a store share its clock.
  const store = options.store ?? memoryStore(clock);
  checkOptions(gearOptions, clock);
  const runner: Runner = { options: gearOptions, store, clock, emit: wrapListener(onRun) };

  const context: ChainsContext = { runner, sources };
  return {
    run: (chain, params = {}, runOptions = {}) => startRun(context, chain, params, runOptions),
    resume: (id, runOptions = {}) => resumeRun(context, id, runOptions),
    resolve: (id, how, resolveOptions) => resolveStep(runner, id, how, resolveOptions),
    list: () => listRuns(store),
    show: (id) => loadRun(store, id),
    outputs: (id) => readOutputs(store, id),
    cancel: (id, by) => cancelRun(runner, id, by),
    async close() {
      await Promise.all(sources.map((source) => source.close()));
    },
  };
}

/** The parts that the functions of one `Chains` share. */
interface ChainsContext {
  readonly runner: Runner;
  readonly sources: readonly AbilitySource[];
}

/** Starts a run: everything that can refuse it is checked before the run is stored. */
async function startRun(
  { runner, sources }: ChainsContext,
  input: Chain,
  values: Readonly<Record<string, unknown>>,
  options: RunOptions,
): Promise<RunState> {
  const { store, clock } = runner;
  const chain = checkChain(input);
  const params = readParams(chain, values);
  const modelRules = options.modelText === undefined ? [] : readModelRules(options.modelText, chain);
  // Rules that cannot be filled refuse the run before any server starts.
  buildChainRules(chain, params, modelRules);
  const found = await resolveAbilities(sources, chain, () => true);
  const id = options.id ?? makeRunId(clock.wallMs());
  const origin = options.origin ?? chainFileOf(input);
  const first: RunState = {
    format: 1,
    id: checkRunId(id),
    status: 'running',
    chain,
    params,
    modelRules,
    ...(origin !== undefined && { origin }),
    startedWallMs: clock.wallMs(),
    steps: chain.steps.map((step) => ({ id: step.id, status: 'pending', attempts: 0 })),
    owner: createOwner(store),
    approved: [],
  };
  const created = await createRun(store, first);
  if (created.status === 'rejected' && !created.full) {
    throw new SwitchgearError('run_exists', `the run ${quoteValue(id)} exists already: resume it, or use another id`);
  }
  const owned = unwrapRun(created, id);
  runner.emit({ type: 'run-started', run: owned });
  return continueRun(runner, owned, { ...options, wait: options.wait ?? true, abilities: found });
}

/** Takes over a run whose owner is gone, and continues it. */
async function resumeRun(
  { runner, sources }: ChainsContext,
  id: string,
  options: Pick<RunOptions, 'signal' | 'wait'>,
): Promise<RunState> {
  const { store } = runner;
  const current = await loadRun(store, id);
  if (current.status === 'in-doubt') return current;
  if (isOver(current))
    throw new SwitchgearError(
      'run_over',
      `the run ${quoteValue(id)} has already ended: its status is ${current.status}`,
    );
  const { owner: previousOwner } = current;
  if (previousOwner !== undefined && !isOwnerGone(previousOwner, store.clock.nowMs()))
    throw busyError(id, previousOwner.untilMs - store.clock.nowMs());
  const found = await resolveAbilities(sources, current.chain, (at) => current.steps[at]?.status !== 'done');
  const transition = { type: 'taken', owner: createOwner(store), previousOwner } as const;
  const entries = [{ type: 'run-resumed', run: id, chain: current.chain.id } as const];
  const result = await updateRun(store, current, transition, { entries });
  if (result.status === 'rejected' && !result.full) throw busyError(id, 0);
  const owned = unwrapRun(result, id);
  runner.emit({ type: 'run-resumed', run: owned });
  if (owned.status === 'in-doubt') return owned;
  return continueRun(runner, owned, { ...options, wait: options.wait ?? true, abilities: found });
}

/** Records a person's resolution of the step in doubt. */
async function resolveStep(
  { store, clock }: Runner,
  id: string,
  how: 'done' | 'redo',
  { by, output }: ResolveOptions,
): Promise<RunState> {
  const current = await loadRun(store, id);
  const step = findOpenStep(current);
  if (current.status !== 'in-doubt' || step < 0) {
    throw new SwitchgearError(
      'not_in_doubt',
      `no step of the run ${quoteValue(id)} is in doubt: the status of the run is ${current.status}`,
    );
  }
  const text = JSON.stringify(output ?? null);
  const outputBytes = Buffer.byteLength(text);
  if (outputBytes > abilityOutputBytesMax) {
    throw new SwitchgearError('invalid_argument', `the output must have at most ${abilityOutputBytesMax} bytes`);
  }
  const transition = { type: 'resolved', how, outputBytes, wallMs: clock.wallMs() } as const;
  const entries = [{ type: 'run-resolved', run: id, chain: current.chain.id, by, how } as const];
  const extras = how === 'done' ? { output: { step, text } } : {};
  return unwrapRun(await updateRun(store, current, transition, { entries, ...extras }), id);
}

async function readOutputs(store: Store, id: string): Promise<Readonly<Record<string, unknown>>> {
  const { chain, steps } = await loadRun(store, id);
  const found: [string, unknown][] = [];
  for (const [at, step] of chain.steps.entries()) {
    if (steps[at]?.status === 'done') found.push([step.id, await readOutput(store, id, at)]);
  }
  return Object.fromEntries(found);
}

async function cancelRun({ store, clock }: Runner, id: string, by: string): Promise<RunState> {
  const current = await loadRun(store, id);
  if (isOver(current))
    throw new SwitchgearError(
      'run_over',
      `the run ${quoteValue(id)} has already ended: its status is ${current.status}`,
    );
  const end = { code: 'cancelled', message: `cancelled by ${by}` } as const;
  const entries = [{ type: 'run-cancelled', run: id, chain: current.chain.id, by } as const];
  const transition = { type: 'cancelled', wallMs: clock.wallMs(), end } as const;
  const run = unwrapRun(await updateRun(store, current, transition, { entries }), id);
  // The run no longer needs an answer to its open question.
  if (current.card !== undefined) await expireCard(store, current.card);
  return run;
}

/** Throws on an invalid policy or option at once, before any run starts. */
function checkOptions(options: SwitchgearOptions, clock: Clock): void {
  createSwitchgear({ ...options, clock, store: memoryStore(clock), log: 'silent' }).dispose();
}

/** Wraps the listener of a run so that an error of the listener does not stop the run. */
function wrapListener(onRun: RunListener | undefined): RunListener {
  return (event) => {
    try {
      onRun?.(event);
    } catch {
      // Ignore the error of the listener; the run continues.
    }
  };
}

/** The rule lines of a model's text. Throws on an invalid line: to skip a rule would weaken the run's limits. */
function readModelRules(text: string, chain: Chain): readonly string[] {
  const { rules, errors } = parseNyaya(text, `chain:${chain.id}`);
  if (errors.length > 0)
    throw new SwitchgearError('invalid_plan', `the plan of the model cannot be used: ${errors[0]}`);
  return rules.map(printRule);
}

/** Creates a run id: ids sort by time, and two ids of the same millisecond differ. */
function makeRunId(wallMs: number): string {
  return `${wallMs.toString(36)}-${randomBytes(3).toString('hex')}`;
}

function checkRunId(id: string): string {
  if (typeof id === 'string' && /^[\w.-]{1,64}$/.test(id)) return id;
  throw new SwitchgearError(
    'invalid_argument',
    `the id of a run must be 1 to 64 letters, digits, . _ or -, got ${quoteValue(id)}`,
  );
}

function busyError(id: string, leftMs: number): SwitchgearError {
  const wait = leftMs > 0 ? `; if its process is gone, try again in ${Math.ceil(leftMs / 1000)} s` : '';
  return new SwitchgearError('run_busy', `the run ${quoteValue(id)} is owned by another process${wait}`);
}

function unwrapRun(result: RunWriteResult, id: string): RunState {
  if (result.status === 'committed') return result.run;
  const why =
    result.status === 'unavailable' ? result.reason : result.full ? 'it does not fit' : 'it has changed meanwhile';
  throw new SwitchgearError('store_away', `the store did not accept the run ${quoteValue(id)}: ${why}`);
}
