/**
 * The one gate: admit judges an action on the local view and takes what it needs, settle gives it back.
 * Gates fail closed, observers swallow: a bug of ours refuses a call or is counted, and never reaches the host.
 */

import { type Action, type Cost, givenBack, type Outcome, type Permit, type RuleHit } from '../core/action.ts';
import { countedFailures, refusalAt } from '../core/breaker/breaker.ts';
import { applyAll, checkAll, decide } from '../core/decide.ts';
import type { ActionSettled, ControlEvent } from '../core/event.ts';
import { explain } from '../core/explain.ts';
import type { Refusal } from '../core/refusal.ts';
import { type Decision, type Stop, stricter, type Verdict } from '../core/verdict.ts';
import { reportBreaker } from './breakers.ts';
import type { Halting } from './halting.ts';
import type { Lane } from './lanes.ts';
import type { Notebook } from './notebook.ts';
import { inheritHalt, placeOf, seatsOf, type TaskNode } from './task-node.ts';

/** What settling an action may bring along. */
export interface Settling {
  readonly cost?: Cost | undefined;
  readonly resultFingerprint?: number | undefined;
  readonly resultHits?: readonly RuleHit[] | undefined;
  readonly stillRuns?: boolean | undefined;
}

/** A permit, or the verdict that stands against it. */
export type Admission = Permit | Stop;

export interface Guard {
  admit(lane: Lane, action: Action, atMs: number): Admission;
  /** The last word on an action that waited or was asked about: it counts like any other refusal. */
  conclude(lane: Lane, action: Action, stop: Stop, after: 'wait' | 'ask' | 'depth', atMs: number): Stop;
  settle(lane: Lane, permit: Permit, outcome: Outcome, atMs: number, settling?: Settling): void;
  /** Gives back what an admission took: the path of a cancelled call. */
  giveBack(lane: Lane, permit: Permit, atMs: number): void;
  endWork(lane: Lane, permit: Permit, atMs: number): void;
  renew(lane: Lane, permit: Permit, atMs: number): void;
  /** Tells a task what happened and looks at what is due. */
  tell(task: TaskNode, event: ControlEvent, atMs: number): void;
  /** Books what a model call cost, and looks whether that was too much. */
  spend(task: TaskNode, cost: Cost, model: string, atMs: number): void;
  /** Looks at what is due in a task without any event. */
  look(task: TaskNode, atMs: number): void;
  /** The same for the sweep: a task that never acted is looked at only once time alone could matter. */
  sweep(task: TaskNode, atMs: number): void;
  halt(task: TaskNode, stop: Stop, name: string, atMs: number): void;
  refusalOf(stop: Stop, lane: Lane, atMs: number): Refusal;
}

export interface GuardOptions {
  readonly notes: Notebook;
  readonly observes: () => boolean;
  readonly halting: Halting;
}

export function isStop(admission: Admission): admission is Stop {
  return 'code' in admission;
}

export function createGuard({ notes, observes, halting }: GuardOptions): Guard {
  const { halt, notice } = halting;

  function admit(lane: Lane, action: Action, atMs: number): Admission {
    const task = lane.task;
    if (task?.ended === true) inheritHalt(task);
    if (task?.haltStop !== undefined) return task.haltStop; // Latched: one refusal for every later call.
    const decision = decide(lane.panel, { type: 'action-proposed', atMs, action });
    const verdict = decision.verdict;
    if (verdict.kind === 'allow') return allowAction(lane, action, verdict, atMs);
    return observes() ? report(lane, action, decision, atMs) : refuse(lane, action, decision, verdict, atMs);
  }

  function allowAction(lane: Lane, action: Action, verdict: Verdict, atMs: number): Permit {
    const breaker = lane.breaker;
    const before = breaker?.cell.state.generation ?? 0;
    if (breaker !== undefined && breaker.settings.mode === 'observe') noteShadow(lane, atMs);
    applyAll(lane.panel, { type: 'action-decided', atMs, action, verdict });
    let generation = 0;
    let probe = false;
    if (breaker !== undefined) {
      const state = breaker.cell.state;
      generation = state.generation;
      // The last probe is this one, if it is one: counting them would miss a slot that an expired lease made free.
      probe = state.phase === 'half-open' && state.probes.at(-1)?.id === action.id;
      if (generation !== before) reportBreaker(notes, breaker, lane.place, before, atMs);
    }
    if (notes.wantsTraces) notes.write({ type: 'action-allowed', action, probe }, lane.place, atMs);
    const task = lane.task;
    if (task !== undefined && task.cells.budget.state.calls >= task.noticeCalls) notice(task, atMs);
    return { action, atMs, generation, probe };
  }

  /** The gear only observes: what would have been refused is written down and passes. */
  function report(lane: Lane, action: Action, decision: Decision, atMs: number): Permit {
    const refusal = refusalOf(decision.verdict as Stop, lane, atMs);
    const body = { type: 'action-refused', action, decision, message: refusal.message, enforced: false } as const;
    notes.write(body, lane.place, atMs);
    return allowAction(lane, action, { kind: 'allow' }, atMs);
  }

  function refuse(
    lane: Lane,
    action: Action,
    decision: Decision,
    verdict: Stop,
    atMs: number,
    after?: 'wait' | 'ask' | 'depth',
  ): Stop {
    const breaker = lane.breaker;
    const before = breaker?.cell.state.generation ?? 0;
    applyAll(lane.panel, { type: 'action-decided', atMs, action, verdict });
    if (breaker !== undefined && breaker.cell.state.generation !== before) {
      reportBreaker(notes, breaker, lane.place, before, atMs);
    }
    if (verdict.kind === 'wait' || verdict.kind === 'ask') {
      const type = verdict.kind === 'wait' ? 'action-waited' : 'action-asked';
      notes.write({ type, action, decision }, lane.place, atMs);
      return verdict;
    }
    const { message } = refusalOf(verdict, lane, atMs);
    const body = { type: 'action-refused', action, decision, message, enforced: true } as const;
    notes.write(after === undefined ? body : { ...body, after }, lane.place, atMs);
    const task = lane.task;
    if (task === undefined) return verdict;
    if (verdict.kind === 'halt') halt(task, verdict, action.name, atMs);
    else look(task, atMs); // One refusal more may be one too many.
    return task.haltStop ?? verdict;
  }

  function conclude(lane: Lane, action: Action, stop: Stop, after: 'wait' | 'ask' | 'depth', atMs: number): Stop {
    if (lane.task?.haltStop !== undefined) return lane.task.haltStop;
    const decision = { verdict: stop, votes: [{ control: stop.control, verdict: stop }] };
    return refuse(lane, action, decision, stop, atMs, after);
  }

  function settle(lane: Lane, permit: Permit, outcome: Outcome, atMs: number, settling: Settling = {}): void {
    const breaker = lane.breaker;
    const before = breaker?.cell.state.generation ?? 0;
    const lateBefore = breaker?.cell.state.late ?? 0;
    const event = settledEvent(permit, outcome, atMs, settling);
    applyAll(lane.panel, event);
    if (notes.wantsTraces) notes.write({ ...event, durationMs: atMs - permit.atMs }, lane.place, atMs);
    if (breaker !== undefined) {
      const state = breaker.cell.state;
      if (outcome.kind === 'failure' && state.late === lateBefore && breaker.settings.mode !== 'off') {
        noteFailure(lane, outcome.error, state.generation !== before, atMs);
      }
      if (state.generation !== before) reportBreaker(notes, breaker, lane.place, before, atMs);
    }
    if (outcome.kind === 'failure' || settling.cost !== undefined || settling.resultHits !== undefined) {
      lookAfter(lane, permit.action, atMs);
    }
  }

  /** What the ending of an action made due: money spent, an output rule, a tool that failed once too often. */
  function lookAfter(lane: Lane, action: Action, atMs: number): void {
    const task = lane.task;
    if (task === undefined || task.haltStop !== undefined || task.ended) return;
    const shared = checkAll(lane.panel.slice(0, lane.sharedSeats), atMs, action);
    const due = stricter(shared, checkAll(seatsOf(task), atMs)); // The task's limits as they are now, not as it began.
    if (due.kind === 'halt') halt(task, due, action.name, atMs);
  }

  function noteFailure(lane: Lane, error: string, tripped: boolean, atMs: number): void {
    const { cell, settings, name } = lane.breaker!;
    const limit = settings.failureThreshold;
    const actual = tripped ? limit : countedFailures(cell.state, settings, atMs);
    notes.write({ type: 'failure-counted', name, error, actual, limit }, lane.place, atMs);
  }

  function noteShadow(lane: Lane, atMs: number): void {
    const breaker = lane.breaker!;
    const { state } = breaker.cell;
    if (breaker.shadowed === state.generation || refusalAt(state, breaker.settings, atMs) === undefined) return;
    breaker.shadowed = state.generation;
    const { key, name } = breaker;
    notes.write({ type: 'breaker-shadowed', key, name, generation: state.generation }, lane.place, atMs);
  }

  function tell(task: TaskNode, event: ControlEvent, atMs: number): void {
    applyAll(seatsOf(task), event);
    look(task, atMs);
  }

  function look(task: TaskNode, atMs: number): void {
    if (task.haltStop !== undefined || task.ended) return;
    const due = checkAll(seatsOf(task), atMs);
    if (due.kind === 'halt') halt(task, due, due.control, atMs);
    else notice(task, atMs);
  }

  function sweep(task: TaskNode, atMs: number): void {
    const { noticeShare, maxDurationSecs, maxIdleSecs } = task.limits;
    const soonMs = 1000 * noticeShare * Math.min(maxDurationSecs, maxIdleSecs);
    if (task.seats !== undefined || atMs - task.cells.deadline.state.startedAtMs >= soonMs) look(task, atMs);
  }

  function refusalOf(stop: Stop, lane: Lane, atMs: number): Refusal {
    const task = lane.task;
    if (task?.halt !== undefined) return task.halt;
    const subject = { name: lane.target.name, agent: lane.agent, atMs };
    return explain(stop, task === undefined ? subject : { ...subject, task: task.id });
  }

  return {
    admit,
    conclude,
    settle,
    giveBack: (lane, permit, atMs) => settle(lane, permit, givenBack, atMs),
    endWork(lane, permit, atMs) {
      applyAll(lane.panel, { type: 'work-ended', atMs, permit });
      if (notes.wantsTraces) notes.write({ type: 'work-ended', permit }, lane.place, atMs);
    },
    renew(lane, permit, atMs) {
      applyAll(lane.panel, { type: 'permit-renewed', atMs, permit });
      if (notes.wantsTraces) notes.write({ type: 'permit-renewed', permit }, lane.place, atMs);
    },
    tell,
    spend(task, cost, model, atMs) {
      notes.write({ type: 'usage-observed', model, cost, basis: model }, placeOf(task), atMs);
      tell(task, { type: 'usage-observed', atMs, cost }, atMs);
    },
    look,
    sweep,
    halt,
    refusalOf,
  };
}

/** One shape for all: fields that are not known are undefined, which the journal leaves out. */
function settledEvent(permit: Permit, outcome: Outcome, atMs: number, settling: Settling): ActionSettled {
  const { cost, resultFingerprint, resultHits, stillRuns } = settling;
  return {
    type: 'action-settled',
    atMs,
    permit,
    outcome,
    cost,
    resultFingerprint,
    resultHits,
    stillRuns,
  } as ActionSettled;
}
