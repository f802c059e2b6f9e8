/** Watches a simulated run from outside and keeps its own account; whatever does not agree is a violation. */

import type { Action } from '../../src/core/action.ts';
import type { Entry } from '../../src/core/event.ts';
import type { Code, Stop } from '../../src/core/verdict.ts';
import type { Refusal, Switchgear } from '../../src/index.ts';
import { type BreakerModel, type BreakerRule, breakerModel, type Ticket } from './breaker-model.ts';
import type { Draw } from './policy.ts';
import {
  below,
  durationMs,
  heard,
  lineOf,
  silentMs,
  spent,
  startClocks,
  stopClocks,
  type TaskLimits,
  type TaskModel,
  taskModel,
} from './task-model.ts';

/** A call as the world makes it. */
export interface SimulatedCall {
  readonly tool: string;
  readonly kind: 'tool' | 'model' | 'delegation';
  readonly task: TaskModel | undefined;
  readonly agent: string;
  readonly session: string;
  /** Equal for equal arguments. */
  readonly args: number;
  /** How it will end, unless its time runs out. */
  readonly outcome: 'success' | 'failure' | 'neutral';
  readonly worstMicros: number;
  readonly costMicros: number;
  readonly patienceMs: number;
  /** Whether a person has said yes to it. */
  approved: boolean;
  ticket: Ticket | undefined;
  /** The settings it was admitted under. */
  rule: BreakerRule | undefined;
  ran: boolean;
}

export interface Checker {
  readonly tasks: ReadonlyMap<string, TaskModel>;
  readonly reached: ReadonlySet<Code>;
  settings: Draw;
  /** Whether every cost of the run was bounded beforehand: then no limit may ever be passed. */
  bounded: boolean;
  /** The call that is being proposed, the one that a person is asked about, and what the next task is given. */
  proposing: SimulatedCall | undefined;
  asking: SimulatedCall | undefined;
  said: Partial<TaskLimits>;
  hear(entry: Entry): void;
  /** The body of a call runs. */
  runs(call: SimulatedCall): void;
  /** A call came back refused. */
  refused(call: SimulatedCall, refusal: Refusal, wasHalted: boolean): void;
  breaker(call: Pick<SimulatedCall, 'tool' | 'agent' | 'session' | 'task' | 'kind'>): BreakerModel;
  breakersNamed(tool: string): readonly BreakerModel[];
  /** Tools that are held by hand: for whoever calls them later, too. */
  readonly heldTools: Set<string>;
  reload(settings: Draw): void;
  /** Compares every number of the gear with its own. */
  compare(gear: Switchgear): void;
}

/** Told by a thrown one, with everything needed to find it again. */
export class Violation extends Error {}

export function fail(what: string): never {
  throw new Violation(what);
}

function endingsOf({ endings }: TaskModel): number {
  return [...endings.values()].reduce((sum, { successes, others }) => sum + successes + others, 0);
}

export function checker(initial: Draw, nowMs: () => number): Checker {
  const tasks = new Map<string, TaskModel>();
  const breakers = new Map<string, { readonly tool: string; readonly model: BreakerModel }>();
  const calls = new Map<string | number, SimulatedCall>();
  const workers = new Map<string, number>();
  const bursts: number[] = [];
  const reached = new Set<Code>();
  let lastRefusal: Code | undefined;
  let seq = 0;
  let reloadedAtMs = Number.NEGATIVE_INFINITY;

  function keyOf(call: Pick<SimulatedCall, 'tool' | 'agent' | 'session' | 'task' | 'kind'>): string {
    if (call.kind === 'model') return `model/${call.tool}`;
    const parts = { agent: call.agent, session: call.session, task: call.task?.id ?? call.session, shared: '' };
    return `${self.settings.scope}/${parts[self.settings.scope]}/${call.tool}`;
  }

  function callOf(entry: Entry, action: Action): SimulatedCall {
    const call = action.name === 'pay' ? self.asking : self.proposing;
    if (call === undefined || call.tool !== action.name || call.task?.id !== entry.task) {
      fail(`${action.name} was decided, and nobody proposed it`);
    }
    return call;
  }

  /** Why a call must not run now. */
  function objections(call: SimulatedCall, turn: string | undefined): readonly string[] {
    const { task } = call;
    const atMs = nowMs();
    const found: string[] = [];
    if (task?.halt !== undefined) found.push('halted');
    if (call.kind !== 'delegation' && self.breaker(call).refuses(self.settings.breaker, atMs))
      found.push('circuit_open');
    if (call.tool === 'pay' && !call.approved) found.push('approval');
    if (call.tool === 'burst' && inLastMinute(bursts, atMs) >= self.settings.burst) found.push('rule_throttled');
    if (task === undefined) return found;
    if (call.kind !== 'model' && task.calls + 1 > task.limits.maxToolCalls) found.push('tool_call_limit');
    for (const each of lineOf(task)) {
      const micros = each.micros + each.reservedMicros + call.worstMicros;
      if (micros > each.limits.maxSpendCents * 10_000) found.push('token_spend_limit');
      if (durationMs(each, atMs) > each.limits.maxDurationSecs * 1000) found.push('duration_limit');
    }
    const denied = call.kind === 'delegation' ? undefined : task.denied.get(fingerprintOf(call));
    const isOver = denied?.retryAtMs !== undefined && atMs >= denied.retryAtMs;
    const isTwin = turn !== undefined && turn === denied?.turn;
    const isRepeated = denied !== undefined && denied.times >= self.settings.refusedRepeats && !isTwin;
    if (isRepeated && !isOver) found.push('tool_loop');
    const failures = workers.get(`${call.session}\n${call.tool}`) ?? 0;
    if (call.kind === 'delegation' && failures >= self.settings.workerFailures) found.push('delegation_limit');
    return found;
  }

  function admitted(call: SimulatedCall, action: Action): void {
    const found = objections(call, action.turnId);
    if (found.length > 0) fail(`${call.tool} was let through in spite of ${found.join(', ')}`);
    if (calls.has(action.id)) fail(`two calls were admitted as ${action.id}`);
    calls.set(action.id, call);
    const atMs = nowMs();
    call.rule = self.settings.breaker;
    call.ticket =
      call.kind === 'delegation'
        ? { period: 0, probe: false, lease: { untilMs: 0 } }
        : self.breaker(call).begins(call.rule, atMs);
    if (call.tool === 'burst') bursts.push(atMs);
    if (call.task === undefined) return;
    if (call.kind !== 'model') call.task.calls++;
    call.task.denied.delete(fingerprintOf(call));
    const { deniedTurn } = call.task;
    // One call of a burst passed, so the burst does not count.
    if (action.turnId !== undefined && action.turnId === deniedTurn.name && !deniedTurn.hasPassed) {
      deniedTurn.hasPassed = true;
      call.task.deniedInARow = Math.max(0, call.task.deniedInARow - 1);
    }
    for (const task of lineOf(call.task)) {
      task.reservedMicros += call.worstMicros;
      task.outUntilMs = Math.max(task.out.size === 0 ? 0 : task.outUntilMs, atMs + call.patienceMs);
      task.out.add(action.id);
    }
  }

  function denied(call: SimulatedCall, turn: string | undefined, stop: Stop, isAnswer: boolean): void {
    const found = objections(call, turn);
    reached.add(stop.code);
    lastRefusal = stop.code;
    if (!isAnswer && !found.includes(stop.code) && !(stop.code === 'tool_loop' && mayLoop(call))) {
      fail(`${call.tool} was refused by ${stop.code}, the model knows of ${found.join(', ') || 'nothing'}`);
    }
    const halts = (code: string) =>
      haltingCodes.has(code) && (code !== 'delegation_limit' || self.settings.onTrip === 'halt');
    const halting = found.find(halts);
    if (!isAnswer && halting !== undefined && stop.kind !== 'halt')
      fail(`${call.tool} was refused by ${stop.code}, not by ${halting}`);
    if (stop.code === 'circuit_open') self.breaker(call).refused(self.settings.breaker, nowMs());
    const { task } = call;
    if (task === undefined) return;
    if (call.kind !== 'model') task.calls++;
    // Refusals of one burst count as one.
    if (turn === undefined || turn !== task.deniedTurn.name) task.deniedInARow++;
    if (turn !== undefined && turn !== task.deniedTurn.name) task.deniedTurn = { name: turn, hasPassed: false };
    if (call.kind === 'delegation') return;
    const known = task.denied.get(fingerprintOf(call));
    const isOver = known?.retryAtMs !== undefined && nowMs() >= known.retryAtMs;
    const isTwin = turn !== undefined && turn === known?.turn;
    const times = known === undefined || isOver ? 1 : known.times + (isTwin ? 0 : 1);
    task.denied.set(fingerprintOf(call), { times, retryAtMs: stop.retryAtMs, turn });
  }

  /** A call is refused as a repeat only after it ended well twice, or badly five times. */
  function mayLoop(call: SimulatedCall): boolean {
    const { successes, others } = call.task?.endings.get(fingerprintOf(call)) ?? { successes: 0, others: 0 };
    return successes >= 2 || others >= 5;
  }

  function settled(entry: Extract<Entry, { type: 'action-settled' }>): void {
    const call = calls.get(entry.permit.action.id);
    if (call === undefined) fail(`a call that never ran was settled: ${JSON.stringify(entry.permit.action)}`);
    const { outcome } = entry;
    const timedOut = outcome.kind === 'failure' && entry.stillRuns === true;
    const cancelled = outcome.kind === 'neutral' && call.task?.halt !== undefined;
    const lost = call.tool === 'host' && outcome.kind === 'neutral' && outcome.why === 'lease-expired';
    if (!timedOut && !cancelled && !lost && call.kind !== 'delegation' && outcome.kind !== call.outcome) {
      fail(`${call.tool} ended as ${outcome.kind}, it was made to be a ${call.outcome}`);
    }
    if (call.ticket === undefined) fail(`${call.tool} was settled twice`);
    const breaker = self.breaker(call);
    // It ends by the rule in force, which a reload may have changed since it began.
    if (call.kind !== 'delegation') breaker.ends(call.ticket, outcome.kind, self.settings.breaker, entry.atMs);
    call.ticket = undefined;
    for (const task of lineOf(call.task)) {
      if (entry.stillRuns !== true) task.reservedMicros -= call.worstMicros; // What still runs may still cost.
      task.out.delete(entry.permit.action.id);
    }
    // A model that answers has not got what it was refused.
    if (outcome.kind === 'success' && call.task !== undefined && call.kind !== 'model') call.task.deniedInARow = 0;
    if (call.task !== undefined) {
      call.task.sameTextsInARow = 0;
      const ending = call.task.endings.get(fingerprintOf(call)) ?? { successes: 0, others: 0 };
      if (outcome.kind === 'success') ending.successes++;
      else ending.others++;
      call.task.endings.set(fingerprintOf(call), ending);
    }
    const cost = outcome.kind === 'success' ? call.costMicros : 0;
    if ((entry.cost?.micros ?? 0) !== cost)
      fail(`${call.tool} cost ${entry.cost?.micros}, it was made to cost ${cost}`);
    spent(call.task, cost);
  }

  /** A halt has to have its reason in the model's own numbers. */
  function justify(task: TaskModel, code: Code, atMs: number): void {
    const { limits } = task;
    const reasons: Partial<Record<Code, boolean>> = {
      tool_call_limit: task.calls > limits.maxToolCalls,
      token_spend_limit: task.micros > limits.maxSpendCents * 10_000 || lastRefusal === code,
      duration_limit: durationMs(task, atMs) > limits.maxDurationSecs * 1000,
      idle_timeout:
        silentMs(task, atMs) > limits.maxIdleSecs * 1000 &&
        !below(tasks.values(), task).some((each) => each.halt === undefined),
      denial_limit: task.deniedInARow >= limits.maxDenials,
      output_loop: task.sameTexts >= 3,
      tool_loop: lastRefusal === code || endingsOf(task) >= 5,
      delegation_limit: self.settings.onTrip === 'halt' && (task.mustHalt || lastRefusal === code),
    };
    if (reasons[code] === false) fail(`${task.id} was halted by ${code} without cause`);
  }

  function start(entry: Extract<Entry, { type: 'task-started' }>): void {
    const { task: id = '', agent = '', session = '', atMs } = entry;
    const parent = entry.parent === undefined ? undefined : tasks.get(entry.parent);
    const { said } = self;
    self.said = {};
    const limits = { ...self.settings.limits, ...said };
    for (const [name, limit] of Object.entries(limits)) {
      agree(`${name} of ${id}`, (entry.limits as unknown as Record<string, unknown>)[name], limit);
    }
    tasks.set(id, taskModel({ id, agent, session, parent, said, limits, startedAtMs: atMs }));
  }

  function halted(task: TaskModel | undefined, entry: Extract<Entry, { type: 'task-halted' }>): void {
    if (task === undefined) fail(`an unknown task was halted: ${entry.task}`);
    reached.add(entry.stop.code);
    if (task.halt !== undefined) fail(`${task.id} was halted twice`);
    if (task.ended) fail(`${task.id} was halted after its end`);
    if (entry.cause === undefined) justify(task, entry.stop.code, entry.atMs);
    else if (tasks.get(entry.cause)?.halt === undefined) fail(`${task.id} was halted by one that runs on`);
    task.halt = entry.stop.code;
  }

  /** What must have halted a task by now, the sweep's second included. */
  function due(task: TaskModel, atMs: number): void {
    const { limits } = task;
    const late = 2_000;
    if (self.bounded && task.micros + task.reservedMicros > limits.maxSpendCents * 10_000) {
      fail(`${task.id} has spent or reserved more than it may`);
    }
    if (task.halt !== undefined || atMs - reloadedAtMs < late) return;
    if (durationMs(task, atMs) > limits.maxDurationSecs * 1000 + late) fail(`${task.id} runs past its time`);
    // A task is not idle while one below it is not.
    const waits = below(tasks.values(), task).some((each) => each.halt === undefined);
    if (!waits && silentMs(task, atMs) > limits.maxIdleSecs * 1000 + late) fail(`${task.id} is silent and runs on`);
    if (task.calls > limits.maxToolCalls) fail(`${task.id} has called too often and runs on`);
    if (task.micros > limits.maxSpendCents * 10_000) fail(`${task.id} has spent too much and runs on`);
    if (task.deniedInARow >= limits.maxDenials) fail(`${task.id} was refused ${task.deniedInARow} times and runs on`);
    if (task.sameTextsInARow >= 3) fail(`${task.id} says the same again and again and runs on`);
    if (task.mustHalt) fail(`${task.id} sent work to a worker that cannot do it too often and runs on`);
  }

  const self: Checker = {
    tasks,
    reached,
    settings: initial,
    bounded: true,
    proposing: undefined,
    asking: undefined,
    said: {},

    hear(entry) {
      if (entry.seq !== seq + 1) fail(`entry ${entry.seq} follows ${seq}`);
      seq = entry.seq;
      const task = entry.task === undefined ? undefined : tasks.get(entry.task);
      // A call that nobody settled is no sign of life.
      const isForgotten =
        entry.type === 'action-settled' && entry.outcome.kind === 'neutral' && entry.outcome.why === 'lease-expired';
      if (signs.has(entry.type) && !isForgotten) heard(task, entry.atMs);
      switch (entry.type) {
        case 'task-started':
          return start(entry);
        case 'action-allowed':
          return admitted(callOf(entry, entry.action), entry.action);
        case 'action-refused':
          return denied(
            callOf(entry, entry.action),
            entry.action.turnId,
            entry.decision.verdict as Stop,
            entry.after !== undefined,
          );
        case 'action-settled':
          return settled(entry);
        case 'permit-renewed': {
          const call = calls.get(entry.permit.action.id);
          if (call?.ticket !== undefined) self.breaker(call).renew(call.ticket, call.rule!, entry.atMs);
          return;
        }
        case 'work-ended': {
          const call = calls.get(entry.permit.action.id);
          for (const each of lineOf(call?.task)) each.reservedMicros -= call!.worstMicros;
          // A model call that was given up is charged when it ends: without usage with what was reserved.
          if (call !== undefined) spent(call.task, call.outcome === 'failure' ? call.worstMicros : call.costMicros);
          return;
        }
        case 'delegation-returned': {
          if (!entry.failed) return;
          const key = `${entry.session}\n${entry.worker}`;
          workers.set(key, (workers.get(key) ?? 0) + 1);
          const isTripped = workers.get(key)! >= self.settings.workerFailures;
          if (isTripped && self.settings.onTrip === 'halt') lineOf(task).at(-1)!.mustHalt = true;
          return;
        }
        case 'task-stopped':
          return stopClocks(task!, entry.atMs);
        case 'task-resumed':
          return startClocks(task!, entry.atMs);
        case 'task-halted':
          return halted(task, entry);
        case 'task-ended':
          if (task === undefined) fail(`an unknown task ended: ${entry.task}`);
          task.ended = true;
          if (task.parent !== undefined && task.ownStops > 0 && self.asking?.task !== task) {
            fail(`${task.id} ended, and those above it stand still for ever`);
          }
          return;
        case 'internal-error':
          fail(`internal error in ${entry.where}: ${entry.message}`);
      }
    },

    runs(call) {
      if (call.ticket === undefined) fail(`${call.tool} ran without an admission of its own`);
      if (call.ran) fail(`${call.tool} ran twice`);
      call.ran = true;
      if (call.task?.halt !== undefined) fail(`${call.tool} ran in a task that is halted`);
    },

    refused({ task, tool, kind }, refusal, wasHalted) {
      if (wasHalted && refusal.kind !== 'halt') fail(`${tool}: a halted task was told ${refusal.code}`);
      if (kind === 'delegation') return; // The halt of a worker is a refusal for whoever sent it.
      if (refusal.kind === 'halt' && task !== undefined && !task.ended && task.halt === undefined)
        fail(`${tool}: nobody was halted`);
    },

    breaker(call) {
      const key = keyOf(call);
      let known = breakers.get(key);
      if (known === undefined) {
        known = { tool: call.tool, model: breakerModel() };
        known.model.held = self.heldTools.has(call.tool);
        breakers.set(key, known);
      }
      return known.model;
    },
    heldTools: new Set(),
    breakersNamed: (tool) => [...breakers.values()].filter((each) => each.tool === tool).map(({ model }) => model),
    reload(settings) {
      self.settings = settings;
      self.bounded = false;
      reloadedAtMs = nowMs();
      for (const task of tasks.values()) task.limits = { ...settings.limits, ...task.said };
    },

    compare(gear) {
      const atMs = nowMs();
      const snapshot = gear.snapshot();
      sane(snapshot, 'snapshot');
      if (snapshot.internalErrors > 0) fail(`${snapshot.internalErrors} internal errors`);
      const shown = new Map(snapshot.tasks.map((task) => [task.id, task]));
      for (const task of tasks.values()) {
        if (task.ended === shown.has(task.id)) fail(`${task.id} ${task.ended ? 'is still shown' : 'is not shown'}`);
        const seen = shown.get(task.id);
        if (seen === undefined) continue;
        agree(`calls of ${task.id}`, seen.toolCalls, task.calls);
        agree(`spend of ${task.id}`, seen.spendUsd, task.micros / 1_000_000);
        agree(`halt of ${task.id}`, seen.halt?.code, task.halt);
        agree(`duration of ${task.id}`, seen.durationMs, durationMs(task, atMs));
        due(task, atMs);
        for (const each of task.halt === undefined ? [] : below(tasks.values(), task)) {
          if (each.halt === undefined) fail(`${each.id} runs below ${task.id}, which is halted`);
        }
      }
    },
  };
  return self;
}

/** Reasons that end the task: the strictest wins. */
const haltingCodes: ReadonlySet<string> = new Set([
  'tool_call_limit',
  'token_spend_limit',
  'duration_limit',
  'tool_loop',
  'delegation_limit',
]);

/** Entries that say that their task lives. */
const signs: ReadonlySet<string> = new Set([
  'action-allowed',
  'action-refused',
  'action-waited',
  'action-asked',
  'action-settled',
  'work-ended',
  'reservation-changed',
  'permit-renewed',
  'text-observed',
  'usage-observed',
  'call-observed',
  'user-observed',
  'sign-observed',
  'task-stopped',
  'task-resumed',
  'delegation-returned',
]);

function fingerprintOf(call: SimulatedCall): number {
  return call.args * 16 + ['fetch', 'calc', 'think', 'pay', 'burst', 'host'].indexOf(call.tool);
}

function inLastMinute(times: readonly number[], atMs: number): number {
  return times.filter((timeMs) => atMs - timeMs < 60_000).length;
}

function agree(what: string, got: unknown, expected: unknown): void {
  const close = typeof got === 'number' && typeof expected === 'number' && Math.abs(got - expected) < 1e-6;
  if (!close && got !== expected) fail(`${what}: the gear says ${got}, the model ${expected}`);
}

/** Every number in a value is one, and none is below zero. */
export function sane(value: unknown, where: string): void {
  if (typeof value === 'number' && !(value >= 0)) fail(`${where} is ${value}`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) sane(part, `${where}.${key}`);
}
