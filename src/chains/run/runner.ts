/** Runs a run from where it is to its end, or to where it has to stop. Every effect of chains is begun here. */

import { carryOn } from '../../core/controls/budget/budget.ts';
import { parseRule, type Rule, ruleOf } from '../../core/controls/rules/rule.ts';
import { stepStoreWaitMs } from '../../core/limits.ts';
import type { SwitchgearOptions } from '../../guard/api.ts';
import { createSwitchgear } from '../../guard/create-switchgear.ts';
import { chainGate } from '../../guard/entries/chain-step.ts';
import { publishEntry, appendEntry as writeEntry } from '../../guard/journal/journal.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Ability } from '../abilities/ability.ts';
import type { Chain, ParamValues } from '../file/chain.ts';
import { chainRules } from '../file/chain-rules.ts';
import { expire } from './approval/answer-card.ts';
import { askInStore } from './approval/ask.ts';
import { veilOf } from './parameter-redaction.ts';
import { keepLease } from './run-lease.ts';
import { runStep } from './run-step.ts';
import { admitRun, checkEnd } from './start-and-end-checks.ts';
import type { RunListener } from './state/run-event.ts';
import type { RunState } from './state/run-state.ts';
import { isOver } from './state/transitions.ts';
import { type Stopped, stoppedBy, storeStop } from './stop-reason.ts';
import { lendStore } from './storage/borrowed-store.ts';
import type { Bench } from './storage/run-bench.ts';
import { type Desk, useOf, write, writeWithin } from './storage/run-context.ts';
import { readOutputs } from './storage/run-outputs.ts';
import { lookAtRun, runKey } from './storage/runs.ts';

/** What runs have in common. */
export interface Runner {
  readonly options: SwitchgearOptions;
  readonly store: Store;
  readonly clock: Clock;
  /** Never throws. */
  readonly show: RunListener;
}

export interface RunHow {
  readonly signal?: AbortSignal;
  /** Whether it waits for answers. */
  readonly wait: boolean;
  readonly abilities: ReadonlyMap<string, Ability>;
}

/** The rules that a chain brings along, filled with what the run was given. */
export function ownRules(chain: Chain, params: ParamValues, modelRules: readonly string[]): readonly Rule[] {
  const target = `chain:${chain.id}`;
  const own = chainRules(chain, params).map((text) => ruleOf(text));
  const written = modelRules.map((line) => parseRule(line, { target, origin: 'model' }));
  return [...own, ...written].flatMap(({ rule }) => rule ?? []);
}

/** Goes on with a run that this process owns. */
export async function goOn(runner: Runner, start: RunState, how: RunHow): Promise<RunState> {
  const { store, clock, options } = runner;
  const lost = new AbortController();
  const desk: Desk = {
    store,
    clock,
    approver: options.approver,
    wait: how.wait,
    by: start.owner!.process,
    signal: how.signal === undefined ? lost.signal : AbortSignal.any([how.signal, lost.signal]),
    run: start,
    subject: { step: '', attempt: 0, args: {} },
    approvedBy: undefined,
    answered: undefined,
    parked: false,
    lost: false,
    show: runner.show,
    tell: (entry) => publishEntry(gate.runtime, entry),
  };
  const lent = lendStore(store);
  const { chain, params, modelRules } = start;
  const gear = createSwitchgear({
    ...options,
    agent: options.agent ?? chain.id,
    session: options.session ?? start.id,
    store: lent.store,
    clock,
    onRefusal: 'return',
  });
  const own = ownRules(chain, params, modelRules);
  const gate = chainGate(gear, own, askInStore(desk), veilOf(chain, params));
  for (const { rule, reason } of gate.rejected) {
    writeEntry(gate.runtime, { type: 'rule-rejected', line: rule.id, reason });
  }
  const dropped = gate.rejected.find(({ rule }) => rule.origin === 'operator');
  const { ruleSettings: settings } = gear.settings;
  const bench: Bench = {
    desk,
    gear,
    gate,
    rules: { policy: gate.policyRules, own, settings, ownSettings: { ...settings, ...chain.ruleSettings } },
    abilities: how.abilities,
    outputs: Object.create(null) as Record<string, unknown>,
    lastChecked: { hits: [], rows: [] },
  };
  const stopLease = keepLease(desk, () => lost.abort(new Error('the run is no longer run here')));
  const halts = haltCards(bench);
  try {
    const run = await finish(bench, dropped === undefined ? await runAll(bench) : unruled(dropped));
    // Whoever cancelled it knows; a card would wait for somebody to do something about it.
    if (desk.signal.aborted) for (const card of halts) await expire(store, card);
    return run;
  } finally {
    stopLease();
    gear.dispose();
    lent.takeBack();
    store.shared?.letGo?.(runKey(start.id));
  }
}

/** The cards that tell of a halt of this run. */
function haltCards({ gear, desk }: Bench): ReadonlySet<string> {
  const found = new Set<string>();
  gear.on((entry) => {
    if (entry.type !== 'card-changed') return;
    const { id, kind, task } = entry.card;
    if (kind === 'halt' && task === desk.run.id) found.add(id);
  });
  return found;
}

/** How often steps of a run were begun before: a run that is gone on with has no fresh budget. */
function carryCalls({ gate, desk }: Bench): void {
  const { budget } = gate.runtime.tasks.get(desk.run.id)!.cells;
  const calls = desk.run.steps.reduce((sum, { attempts }) => sum + attempts, 0);
  carryOn(budget.state, { ...budget.state, calls });
}

/** A rule of the chain is never left out: without it nothing runs. */
function unruled({ rule, reason }: { readonly rule: Rule; readonly reason: string }): Stopped {
  return { status: 'aborted', end: { code: 'rule_abort', message: `the rule ${rule.id} was not taken: ${reason}` } };
}

/** What the steps before gave, for a run that goes on; without all of it nothing runs. */
async function rememberOutputs({ desk, outputs }: Bench): Promise<Stopped | undefined> {
  const lost = await readOutputs(desk.store, desk.run, outputs);
  return lost === undefined
    ? undefined
    : storeStop({ status: 'unavailable', reason: `the output of ${lost} is not there` });
}

/** All steps that are left, as one task. Undefined = the end was reached. */
async function runAll(bench: Bench): Promise<Stopped | undefined> {
  const { desk, gear } = bench;
  const unready = (await rememberOutputs(bench)) ?? (await admitRun(bench));
  if (unready !== undefined) return unready;
  const result = await gear.task({ id: desk.run.id, signal: desk.signal }, async (task) => {
    carryCalls(bench);
    for (const at of desk.run.steps.keys()) {
      if (desk.run.steps[at]!.status !== 'pending') continue;
      const stopped = await runStep(bench, at, task);
      if (stopped !== undefined) return stopped;
      if (task.halt !== undefined) return stoppedBy(desk, task.halt, bench.lastChecked);
    }
    return undefined;
  });
  if (result.status === 'halted') return result.value ?? stoppedBy(desk, result.halt, bench.lastChecked);
  return result.value ?? checkEnd(bench);
}

/** Writes how it ended. What the store does not hear now, whoever resumes the run finds out again. */
async function finish({ desk }: Bench, stopped: Stopped | undefined): Promise<RunState> {
  const { store, by, clock, run } = desk;
  if (stopped === 'lost' || desk.lost) {
    const now = (await lookAtRun(store, run)) ?? run;
    return isOver(now) ? ended(desk, now) : now;
  }
  if (stopped === 'parked') {
    await write(desk, { type: 'released', by });
    return desk.run;
  }
  if (desk.run.status === 'failed') return ended(desk, desk.run);
  const status = stopped?.status ?? 'done';
  const end = stopped?.end;
  const wallMs = clock.wallMs();
  const local: RunState = { ...desk.run, status, endedWallMs: wallMs, ...(end && { end }) };
  if (end?.code === 'store_away') {
    await write(desk, { type: 'released', by }); // If it hears that, the next one need not wait for the lease.
    return ended(desk, local);
  }
  const move = { type: 'ended', by, status, wallMs, ...(end && { end }) } as const;
  const note = { type: 'run-ended', run: run.id, chain: run.chain.id, status, ...(end && { code: end.code }) } as const;
  const moved = await writeWithin(desk, stepStoreWaitMs, move, { ...useOf(desk), notes: [note] });
  if (moved.status === 'committed') return ended(desk, moved.run);
  return desk.lost ? ((await lookAtRun(store, run)) ?? local) : ended(desk, local);
}

function ended(desk: Desk, run: RunState): RunState {
  desk.show({ type: 'run-ended', run });
  return run;
}
