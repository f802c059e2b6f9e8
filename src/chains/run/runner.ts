/** Continues a run from its current step to its end, or until it has to stop. */

import { continueBudget } from '../../core/controls/budget/budget.ts';
import { parseRule, parseRuleText, type Rule } from '../../core/controls/rules/rule.ts';
import { stepStoreWaitMs } from '../../core/limits.ts';
import type { SwitchgearOptions } from '../../guard/api.ts';
import { createSwitchgear } from '../../guard/create-switchgear.ts';
import { guardChain } from '../../guard/entries/chain-step.ts';
import { publishEntry, appendEntry as writeEntry } from '../../guard/internal.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Ability } from '../abilities/ability.ts';
import type { Chain, ParamValues } from '../file/chain.ts';
import { chainRules } from '../file/chain-rules.ts';
import { createRunApproval } from './approval/run-approval.ts';
import { RunQuestion } from './approval/run-question.ts';
import { expireCard } from './approval/stored-card.ts';
import { startLeaseRenewal } from './ownership.ts';
import { createParamRedactor } from './parameter-redaction.ts';
import { runStep } from './run-step.ts';
import { admitRun, checkEnd } from './start-and-end-checks.ts';
import type { RunListener } from './state/run-event.ts';
import type { RunState } from './state/run-state.ts';
import { isOver } from './state/transitions.ts';
import { type StopReason, stopForRefusal, stopForStore } from './stop-reason.ts';
import { type ActiveRun, writeTransition, writeTransitionWithin } from './storage/active-run.ts';
import { borrowStore } from './storage/borrowed-store.ts';
import { readOutputs } from './storage/outputs.ts';
import type { RunContext } from './storage/run-context.ts';
import { reloadRun, runKey } from './storage/runs.ts';

/** The parts that all runs share. */
export interface Runner {
  readonly options: SwitchgearOptions;
  readonly store: Store;
  readonly clock: Clock;
  /** Reports an event. Never throws. */
  readonly emit: RunListener;
}

export interface ContinueOptions {
  readonly signal?: AbortSignal;
  /** Whether the run waits for answers. */
  readonly wait: boolean;
  readonly abilities: ReadonlyMap<string, Ability>;
}

/** The rules of the chain and of the model, filled with the parameters of the run. */
export function buildChainRules(chain: Chain, params: ParamValues, modelRules: readonly string[]): readonly Rule[] {
  const target = `chain:${chain.id}`;
  const own = chainRules(chain, params).map((text) => parseRuleText(text));
  const written = modelRules.map((line) => parseRule(line, { target, origin: 'model' }));
  return [...own, ...written].flatMap(({ rule }) => rule ?? []);
}

/** Continues a run that this process owns. */
export async function continueRun(runner: Runner, start: RunState, continuation: ContinueOptions): Promise<RunState> {
  const { store, clock, options } = runner;
  const lost = new AbortController();
  const active: ActiveRun = {
    store,
    clock,
    approver: options.approver,
    wait: continuation.wait,
    by: start.owner!.process,
    signal: continuation.signal === undefined ? lost.signal : AbortSignal.any([continuation.signal, lost.signal]),
    run: start,
    question: new RunQuestion(),
    abilities: continuation.abilities,
    lost: false,
    emit: runner.emit,
    onEntry: (entry) => publishEntry(gate.runtime, entry),
  };
  const borrowed = borrowStore(store);
  const { chain, params, modelRules } = start;
  const gear = createSwitchgear({
    ...options,
    agent: options.agent ?? chain.id,
    session: options.session ?? start.id,
    store: borrowed.store,
    clock,
    onRefusal: 'return',
  });
  const own = buildChainRules(chain, params, modelRules);
  const gate = guardChain(gear, own, createRunApproval(active), createParamRedactor(chain, params));
  for (const { rule, reason } of gate.rejected) {
    writeEntry(gate.runtime, { type: 'rule-rejected', line: rule.id, reason });
  }
  const rejection = gate.rejected.find(({ rule }) => rule.origin === 'operator');
  const { ruleSettings: settings } = gear.settings;
  const context: RunContext = {
    active,
    gear,
    gate,
    rules: { policy: gate.policyRules, own, settings, ownSettings: { ...settings, ...chain.ruleSettings } },
    abilities: continuation.abilities,
    outputs: Object.create(null) as Record<string, unknown>,
    lastCheck: { hits: [], rows: [] },
  };
  const stopLease = startLeaseRenewal(active, () => lost.abort(new Error('another process took over the run')));
  const halts = trackHaltCards(context);
  try {
    const run = await finishRun(
      context,
      rejection === undefined ? await runSteps(context) : stopForRejectedRule(rejection),
    );
    // A cancelled run needs no halt card: the person who cancelled it knows.
    if (active.signal.aborted) for (const card of halts) await expireCard(store, card);
    return run;
  } finally {
    stopLease();
    gear.dispose();
    borrowed.release();
    store.shared?.evict?.(runKey(start.id));
  }
}

/** Collects the ids of the halt cards of this run. */
function trackHaltCards({ gear, active }: RunContext): ReadonlySet<string> {
  const found = new Set<string>();
  gear.onEntry((entry) => {
    if (entry.type !== 'card-changed') return;
    const { id, kind, task } = entry.card;
    if (kind === 'halt' && task === active.run.id) found.add(id);
  });
  return found;
}

/** Counts the earlier attempts of all steps as calls: a resumed run does not get a fresh budget. */
function restoreCallCount({ gate, active }: RunContext): void {
  const { budget } = gate.runtime.tasks.get(active.run.id)!.cells;
  const calls = active.run.steps.reduce((sum, { attempts }) => sum + attempts, 0);
  continueBudget(budget.state, { ...budget.state, calls });
}

/** Ends the run if the gear rejected a rule of the chain: a chain never runs without one of its rules. */
function stopForRejectedRule({ rule, reason }: { readonly rule: Rule; readonly reason: string }): StopReason {
  return { status: 'aborted', end: { code: 'rule_abort', message: `the rule ${rule.id} was rejected: ${reason}` } };
}

/** Reads the outputs of earlier steps for a resumed run; the run fails if one is missing. */
async function loadOutputs({ active, outputs }: RunContext): Promise<StopReason | undefined> {
  const lost = await readOutputs(active.store, active.run, outputs);
  return lost === undefined
    ? undefined
    : stopForStore({ status: 'unavailable', reason: `the output of the step ${lost} is missing` });
}

/** Runs all remaining steps as one task; undefined if the last step is done. */
async function runSteps(context: RunContext): Promise<StopReason | undefined> {
  const { active, gear } = context;
  const notReady = (await loadOutputs(context)) ?? (await admitRun(context));
  if (notReady !== undefined) return notReady;
  const result = await gear.task({ id: active.run.id, signal: active.signal }, async (task) => {
    restoreCallCount(context);
    for (const at of active.run.steps.keys()) {
      if (active.run.steps[at]!.status !== 'pending') continue;
      const stop = await runStep(context, at, task);
      if (stop !== undefined) return stop;
      if (task.halt !== undefined) return stopForRefusal(active, task.halt, context.lastCheck);
    }
    return undefined;
  });
  if (result.status === 'halted') return result.value ?? stopForRefusal(active, result.halt, context.lastCheck);
  return result.value ?? checkEnd(context);
}

/** Writes the end of the run. If the store does not receive it, a process that resumes the run finds the same end. */
async function finishRun({ active }: RunContext, stop: StopReason | undefined): Promise<RunState> {
  const { store, by, clock, run } = active;
  if (stop === 'lost' || active.lost) {
    const now = (await reloadRun(store, run)) ?? run;
    return isOver(now) ? emitEnded(active, now) : now;
  }
  if (stop === 'parked') {
    await writeTransition(active, { type: 'released', by });
    return active.run;
  }
  if (active.run.status === 'failed') return emitEnded(active, active.run);
  const status = stop?.status ?? 'done';
  const end = stop?.end;
  const wallMs = clock.wallMs();
  const local: RunState = { ...active.run, status, endedWallMs: wallMs, ...(end && { end }) };
  if (end?.code === 'store_away') {
    // If the store receives this, the next process does not have to wait for the lease to expire.
    await writeTransition(active, { type: 'released', by });
    return emitEnded(active, local);
  }
  const transition = { type: 'ended', by, status, wallMs, ...(end && { end }) } as const;
  const entry = {
    type: 'run-ended',
    run: run.id,
    chain: run.chain.id,
    status,
    ...(end && { code: end.code }),
  } as const;
  const result = await writeTransitionWithin(active, stepStoreWaitMs, transition, {
    ...active.question.useCard(),
    entries: [entry],
  });
  if (result.status === 'committed') return emitEnded(active, result.run);
  return active.lost ? ((await reloadRun(store, run)) ?? local) : emitEnded(active, local);
}

function emitEnded(active: ActiveRun, run: RunState): RunState {
  active.emit({ type: 'run-ended', run });
  return run;
}
