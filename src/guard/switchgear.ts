/** The gear: puts the parts together and is the library's front door. */

import type { Control } from '../core/control.ts';
import { SwitchgearError } from '../core/error.ts';
import { haltedTasksMax, raisesMax, reasonLengthMax } from '../core/limits.ts';
import { checkPart } from '../core/part.ts';
import { sonnetPrices } from '../core/rates.ts';
import type { RuleEngine } from '../core/rule-engine.ts';
import type { BreakerSettings, Settings, TaskSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import { resolveTask } from '../policy/resolve.ts';
import type { Answer } from '../ports/approver.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Asking } from './approval.ts';
import * as check from './arguments.ts';
import { breakerHandle } from './breaker-handle.ts';
import { createBreakers, snapshotBreaker } from './breakers.ts';
import { systemClock } from './clock.ts';
import { frameOf, runInside } from './context.ts';
import { type Delegating, delegate } from './delegate.ts';
import type {
  AnyFunction,
  GuardOptions,
  PolicyInput,
  Switchgear,
  SwitchgearOptions,
  Task,
  TaskOptions,
  TaskResult,
} from './front-door.ts';
import { createGuard } from './guard.ts';
import { checkHealth } from './health.ts';
import { createLiveCalls } from './live-calls.ts';
import { logOf } from './log-target.ts';
import { notebook } from './notebook.ts';
import { observe } from './observing.ts';
import { policyEngineOf, takePolicy } from './policy-engine.ts';
import { retry } from './retry.ts';
import { guardFunction } from './run.ts';
import { createSeating } from './seating.ts';
import { createSpending } from './spending.ts';
import type { Target } from './targets.ts';
import { faceOf, type TaskHost } from './task-face.ts';
import type { TaskNode } from './task-node.ts';
import { runTask } from './task-run.ts';
import { atHalt, createTasks, snapshotTask } from './tasks.ts';
import { timeouts } from './timeouts.ts';
import { admitCall, type HostCalls } from './two-step.ts';
import { watchSource } from './watch.ts';

const optionNames = [
  'agent',
  'session',
  'policy',
  'store',
  'clock',
  'prices',
  'approver',
  'mode',
  'onRefusal',
  'log',
  'controls',
  'project',
  'env',
];
const guardOptionNames = [
  'kind',
  'breaker',
  'timeoutSecs',
  'fallback',
  'classify',
  'healthCheck',
  'worst',
  'usage',
  'async',
];
const delegateOptionNames = ['limits', 'judge', 'timeoutSecs'];
const portMethods = [
  ['clock', ['nowMs', 'wallMs', 'after']],
  ['store', ['cell', 'drop', 'keys', 'append', 'tail', 'putCard', 'card', 'cards', 'close']],
  ['prices', ['price', 'dearest']],
  ['approver', ['ask']],
] as const;
const taskOptionNames = ['id', 'agent', 'session', 'parent', 'limits', 'signal', 'retryOf'];

let gears = 0;

/** A new gear: every protection on, unless the policy says otherwise. */
export function createSwitchgear(options: SwitchgearOptions = {}): Switchgear {
  check.options('createSwitchgear', options, optionNames);
  if (options.mode !== undefined) check.oneOf('mode', options.mode, ['enforce', 'observe']);
  if (options.onRefusal !== undefined) check.oneOf('onRefusal', options.onRefusal, ['return', 'throw']);
  for (const [port, names] of portMethods) {
    if (options[port] !== undefined) check.methods(port, options[port], names);
  }
  if (options.env !== undefined) check.entries('env', options.env);
  if (options.controls !== undefined) check.list('controls', options.controls).forEach(checkControl);
  const agent = options.agent === undefined ? 'agent' : check.name('agent', options.agent);
  const session =
    options.session === undefined ? `s-${process.pid}-${++gears}` : check.name('session', options.session);
  const project = options.project === undefined ? process.cwd() : check.name('project', options.project);
  const clock = options.clock ?? options.store?.clock ?? systemClock;
  const store = options.store ?? memoryStore(clock);
  const ownControls = (options.controls ?? []) as readonly Control<never>[];
  const gear = {};

  const env = options.env ?? process.env;
  const loaded = takePolicy(options.policy, env);
  let settings: Settings = loaded.settings;
  let rules: RuleEngine | undefined = loaded.rules;
  const observes = () => (options.mode ?? settings.mode) === 'observe';

  const { level, print } = logOf(options.log);
  const notes = notebook(store, settings.journal.level, level, print);
  for (const { name, value, used } of loaded.ignored) {
    notes.write({ type: 'setting-ignored', name, value, used: String(used ?? 'no such setting') }, {}, clock.nowMs());
  }
  let ids = 0;
  const cardId = () => `card-${session}-${++ids}`;
  /** Tasks that were halted and may be tried again. */
  const halted = new Map<string, TaskNode>();
  const onHalt = (task: TaskNode) => {
    if (halted.size >= haltedTasksMax) halted.delete(halted.keys().next().value!);
    halted.set(task.id, task);
  };
  const guard = createGuard({ store, notes, observes, onHalt, cardId });
  const breakers = createBreakers(store, notes);
  const tunings = new Map<string, Partial<BreakerSettings>>();
  const seating = createSeating({
    store,
    breakers,
    agent,
    session,
    project,
    ownControls,
    settings: () => settings,
    rules: () => rules,
    tunings,
  });
  const tasks = createTasks({
    store,
    notes,
    settings: () => settings,
    ownControls,
    sweepTask: guard.sweep,
    afterSweep: (atMs) => {
      if (atMs === Number.NEGATIVE_INFINITY) return live.size > 0 || checkHealth(breakers, notes, clock, atMs);
      const probing = live.renew(atMs);
      return checkHealth(breakers, notes, clock, atMs) || probing;
    },
  });
  const live = createLiveCalls(guard, clock, tasks.wake);
  // A breaker may open outside any task, when no sweep is running that would ask after its callee.
  notes.on(({ type }) => {
    if (type === 'breaker-opened' && checkHealth(breakers, notes, clock, Number.NEGATIVE_INFINITY)) tasks.wake();
  });
  const spending = createSpending(options.prices ?? sonnetPrices, () => settings.prices, notes);
  const open = new Map<string, (answer: Answer) => void>();
  const asking: Asking = {
    guard,
    notes,
    clock,
    approver: options.approver,
    timeoutSecs: () => settings.approval.timeoutSecs,
    cardId,
    open,
  };
  let toldMissing = false;
  const runner: Delegating & HostCalls = {
    gear,
    guard,
    seating,
    clock,
    notes,
    timeouts: timeouts(clock),
    live,
    spending,
    asking,
    throws: options.onRefusal === 'throw',
    rules: () => rules,
    nextId: () => ++ids,
    missingTask(name, atMs) {
      if (toldMissing) return;
      toldMissing = true;
      notes.write({ type: 'task-missing', name }, { session, agent }, atMs);
    },
    settings: () => settings.delegation,
    runChild: (worker, parent, limits, run) => {
      const node = startNode({ agent: worker, ...(limits === undefined ? {} : { limits }) }, parent);
      return runTask(host, runner, node, (task) => run(task, node));
    },
    find: (id) => tasks.find(id),
    admitted: new Map(),
  };
  const observing = { clock, guard, notes, spending, tokenCap: () => settings.loop.tokenCap };
  const host: TaskHost = {
    observe: (node, observation) => observe(observing, node, observation),
    run: (node, fn) => runInside(gear, node, undefined, fn),
    pause(node) {
      if (node.ended) return;
      node.pauses++;
      standStill(node, 'task-stopped');
    },
    resume(node) {
      if (node.pauses === 0) return; // Somebody else's pause is not this one's to end.
      node.pauses--;
      standStill(node, 'task-resumed');
    },
    end(node, how) {
      leave(node);
      tasks.end(node, how);
    },
    nowMs: () => clock.nowMs(),
  };

  /** What a task holds is let go before it ends: those above it do not stand still for its pauses. */
  function leave(node: TaskNode): void {
    for (const child of node.children ?? []) leave(child);
    while (node.pauses > 0) host.resume(node);
    breakers.dropTask(node.id);
  }

  function standStill(node: TaskNode, type: 'task-stopped' | 'task-resumed'): void {
    const atMs = clock.nowMs();
    guard.tell(node, { type, atMs }, atMs);
    notes.write({ type }, { task: node.id, session: node.session, agent: node.agent }, atMs);
  }

  function startNode(given: TaskOptions & { readonly retryOf?: string }, around: TaskNode | undefined): TaskNode {
    check.options('task options', given, taskOptionNames);
    const limits = given.limits === undefined ? undefined : checkPart(settings.task, given.limits, 'limits');
    const parent = parentOf(given, around);
    const name = given.agent === undefined ? (parent?.agent ?? agent) : check.name('agent', given.agent);
    const before = given.retryOf === undefined ? undefined : halted.get(given.retryOf);
    const node = tasks.start({
      id: given.id === undefined ? `t-${session}-${++ids}` : check.name('id', given.id),
      agent: name,
      session: given.session === undefined ? (parent?.session ?? session) : check.name('session', given.session),
      parent,
      limits: resolveTask(settings, name, limits),
      said: limits,
      ...(before === undefined ? {} : { retryOf: before.id, raises: before.raises + 1, carried: before }),
    });
    const { signal } = given;
    if (signal !== undefined) {
      check.methods('signal', signal, ['addEventListener', 'removeEventListener']);
      const abort = () => guard.halt(node, haltedByHand('the caller cancelled it'), 'signal', clock.nowMs());
      if (signal.aborted) abort();
      else {
        signal.addEventListener('abort', abort, { once: true });
        atHalt(node, () => signal.removeEventListener('abort', abort));
      }
    }
    return node;
  }

  function parentOf(given: TaskOptions, around: TaskNode | undefined): TaskNode | undefined {
    if (given.parent === undefined) return around;
    if (given.parent === null) return undefined;
    const parent = tasks.find(given.parent);
    if (parent === undefined) {
      throw new SwitchgearError('unknown_task', `no task with the id ${check.quoted(given.parent)} is running`);
    }
    return parent;
  }

  function targetOf(name: string, given: GuardOptions): Target {
    check.options('guard options', given, guardOptionNames);
    if (given.kind !== undefined) check.oneOf('kind', given.kind, ['tool', 'model', 'delegation', 'step']);
    for (const part of ['fallback', 'classify', 'healthCheck', 'usage'] as const) {
      if (given[part] !== undefined) check.fn(part, given[part]);
    }
    const said = given.breaker === undefined ? {} : checkPart(settings.circuitBreaker, given.breaker, 'breaker');
    const timeout = given.timeoutSecs === undefined ? {} : { timeoutSecs: timeoutOf(given.timeoutSecs) };
    const overrides = { ...said, ...timeout } as Partial<BreakerSettings>;
    const isTuned = Object.keys(overrides).length > 0;
    if (isTuned) noteTuning(name, overrides);
    return {
      name: check.name('the name of a tool', name),
      kind: given.kind ?? 'tool',
      overrides: isTuned ? overrides : undefined,
      healthCheck: given.healthCheck,
    };
  }

  function timeoutOf(timeoutSecs: number): number | undefined {
    if (timeoutSecs === 0) return undefined;
    return checkPart(settings.circuitBreaker, { timeoutSecs }, 'guard options').timeoutSecs;
  }

  function noteTuning(name: string, overrides: object): void {
    notes.write({ type: 'breaker-tuned', name, overrides: { ...overrides } }, {}, clock.nowMs());
  }

  function guardOne<F extends AnyFunction>(name: string, fn: F, given: GuardOptions<F> = {}) {
    check.fn(`the tool ${check.quoted(name)}`, fn);
    return guardFunction(runner, targetOf(name, given as GuardOptions), fn, given);
  }

  const face: Switchgear & Internals = {
    agent,
    session,
    get settings() {
      return settings;
    },
    guard: guardOne as Switchgear['guard'],
    guardAll(tools, given) {
      const entries = check
        .entries('the tools', tools)
        .map(([name, fn]) => [name, guardOne(name, fn as AnyFunction, given)]);
      return Object.fromEntries(entries) as ReturnType<Switchgear['guardAll']> as never;
    },
    task<T>(given: TaskOptions, run: (task: Task) => T | Promise<T>): Promise<TaskResult<T>> {
      check.fn('the task function', run);
      return runTask(host, runner, startNode(given ?? {}, frameOf(gear)?.task), run);
    },
    startTask: (given = {}) => faceOf(host, startNode(given, frameOf(gear)?.task)),
    currentTask() {
      const task = frameOf(gear)?.task;
      return task === undefined ? undefined : faceOf(host, task);
    },
    call: () => frameOf(gear)?.call,
    admit: (name, args, given = {}) => admitCall(runner, name, args, given),
    delegate(worker, run, given = {}) {
      check.fn('the worker function', run);
      check.options('delegate options', given, delegateOptionNames);
      return delegate(runner, check.name('the name of a worker', worker), run, given);
    },
    retry: (run, given = {}) => retry(clock, run, given),
    watch: (name, source, listener, given = {}) =>
      watchSource({ clock, notes, agent }, check.name('the name of a watch', name), source, listener, given),
    breaker: (name) =>
      breakerHandle(
        {
          breakers,
          clock,
          alerts: () => settings.alerts,
          ensure: (named) => {
            if (breakers.named(named).length === 0) seating.lane(targetOf(named, {}), undefined);
          },
        },
        check.name('the name of a breaker', name),
      ),
    snapshot() {
      const atMs = clock.nowMs();
      const delegations: Record<string, Record<string, number>> = {};
      for (const key of store.keys()) {
        const [kind, inSession, worker] = key.split('/');
        if (kind !== 'worker') continue;
        const cell = seating.worker(decodeURIComponent(inSession!), decodeURIComponent(worker!));
        if (cell.state.failures === 0) continue;
        delegations[decodeURIComponent(inSession!)] ??= {};
        delegations[decodeURIComponent(inSession!)]![decodeURIComponent(worker!)] = cell.state.failures;
      }
      return {
        atMs,
        mode: observes() ? 'observe' : 'enforce',
        tasks: [...tasks.all()].map((task) => snapshotTask(task, atMs)),
        breakers: [...breakers.all()].map((entry) => snapshotBreaker(entry, settings.alerts, atMs)),
        delegations,
        cards: store.cards(),
        internalErrors: notes.errors,
      };
    },
    on: (listener) => notes.on(listener),
    journal: (fromSeq = 0) => store.tail(check.whole('fromSeq', fromSeq, 0)),
    halt(id, reason) {
      for (const task of id === undefined ? [...tasks.all()] : [tasks.find(id)]) {
        if (task !== undefined) guard.halt(task, haltedByHand(reason), 'operator', clock.nowMs());
      }
    },
    answer(card, answer, by) {
      const known = store.card(card);
      const waiting = open.get(card);
      if (known?.kind === 'ask' && waiting !== undefined && (answer === 'approve' || answer === 'decline')) {
        waiting({ approved: answer === 'approve', by });
      }
      return guard.answer(card, answer, by, clock.nowMs());
    },
    retryOf(id) {
      const node = halted.get(id);
      if (node?.haltStop === undefined || node.raises >= raisesMax) return undefined;
      const limits = raised(node.limits, node.haltStop);
      return { agent: node.agent, session: node.session, parent: null, limits, retryOf: id } as TaskOptions;
    },
    reload(policy: PolicyInput) {
      const next = takePolicy(policy, env);
      const changed = Object.keys(next.settings).filter(
        (key) =>
          JSON.stringify(next.settings[key as keyof Settings]) !== JSON.stringify(settings[key as keyof Settings]),
      );
      settings = next.settings;
      if (rules !== undefined || next.rules !== undefined) {
        const engine = next.rules ?? policyEngineOf(policy).noRules(settings);
        rules = engine.with(rules, settings.ruleSettings);
      }
      notes.setLevel(settings.journal.level);
      tasks.reseat((task) => resolveTask(settings, task.agent, task.said));
      seating.renew();
      notes.write({ type: 'policy-reloaded', changed }, {}, clock.nowMs());
    },
    tighten(lines, chain) {
      const engine = rules ?? policyEngineOf(options.policy).noRules(settings);
      const written = check.list('the rules', lines).map((line) => (typeof line === 'string' ? line : check.quoted(line)));
      const tightened = engine.tighten(written, chain ?? `agent:${agent}`);
      for (const rejected of tightened.rejected) notes.write({ type: 'rule-rejected', ...rejected }, {}, clock.nowMs());
      rules = tightened.engine;
      seating.renew();
      return tightened.taken;
    },
    resetAll() {
      const atMs = clock.nowMs();
      for (const entry of breakers.all()) breakers.reset(entry, atMs);
    },
    dispose() {
      for (const task of [...tasks.all()]) host.end(task, 'done');
      tasks.stop();
      for (const entry of breakers.all()) entry.healthCheck = undefined;
      store.close();
    },
    [Symbol.dispose]() {
      this.dispose();
    },
    tune(name, overrides) {
      const checked = checkPart(settings.circuitBreaker, overrides, 'breaker');
      tunings.set(name, { ...tunings.get(name), ...checked });
      noteTuning(name, checked);
      seating.renew();
      for (const entry of breakers.named(name)) {
        const tuned = { ...entry.settings, ...checked } as BreakerSettings;
        breakers.open(entry.key, { ...targetOf(name, {}), healthCheck: entry.healthCheck }, entry.agent, tuned);
      }
    },
    sweep: (atMs) => tasks.sweep(atMs),
    settingsOf: (name) =>
      breakers.named(name)[0]?.settings ??
      seating.lane(targetOf(name, {}), undefined).breaker?.settings ??
      settings.circuitBreaker,
  };
  return face;
}

/** What the seeds' own names need beyond the front door. */
export interface Internals {
  /** Settings for every breaker of a name, existing and future. */
  tune(name: string, overrides: Readonly<Record<string, unknown>>): void;
  settingsOf(name: string): BreakerSettings;
  /** Looks at every task now, or as it will be at a time of the gear's clock. */
  sweep(atMs?: number): void;
}

function checkControl(control: unknown): void {
  check.methods('a control', control, ['initial', 'judge', 'apply']);
  const { name, scope } = control as Control;
  check.name('the name of a control', name);
  check.oneOf('the scope of a control', scope, ['task', 'chain', 'target', 'session', 'gear']);
}

function haltedByHand(said: string): Stop {
  const reason = typeof said === 'string' ? said.slice(0, reasonLengthMax) : check.quoted(said);
  return { kind: 'halt', code: 'rule_abort', control: 'operator', counters: {}, reason };
}

/** The tripped limit doubled, the others as they were. */
function raised(limits: TaskSettings, stop: Stop): TaskSettings {
  switch (stop.code) {
    case 'tool_call_limit':
      return { ...limits, maxToolCalls: limits.maxToolCalls * 2 };
    case 'token_spend_limit':
      return { ...limits, maxSpendCents: limits.maxSpendCents * 2 };
    case 'token_limit':
      return { ...limits, maxTokens: (limits.maxTokens ?? 1) * 2 };
    case 'duration_limit':
      return { ...limits, maxDurationSecs: limits.maxDurationSecs * 2 };
    case 'idle_timeout':
      return { ...limits, maxIdleSecs: limits.maxIdleSecs * 2 };
    case 'denial_limit':
      return { ...limits, maxDenials: limits.maxDenials * 2 };
    default:
      return limits;
  }
}
