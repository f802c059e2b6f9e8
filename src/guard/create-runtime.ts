/** Creates the runtime of a gear from its options. */

import { createWeighedKeys } from '../core/bounded.ts';
import type { Card } from '../core/card.ts';
import { generateSession } from '../core/cell-key.ts';
import { defaultSettings } from '../core/controls/defaults.ts';
import { failedWorkersMax, workerCellsMax } from '../core/limits.ts';
import { builtinPrices } from '../core/prices/builtin-prices.ts';
import { createProcessHold } from '../platform/process-hold.ts';
import { systemClock } from '../platform/system-clock.ts';
import { createTimerQueue } from '../platform/timer-queue.ts';
import type { Answer } from '../ports/approver.ts';
import { ordersKey } from '../ports/orders.ts';
import type { AppliedPolicy } from '../ports/policy.ts';
import { zeroDecisions } from '../ports/process-counts.ts';
import type { SharedStore } from '../ports/store.ts';
import { memoryStore } from '../stores/memory.ts';
import type { SwitchgearOptions } from './api.ts';
import { appendEntry } from './journal/journal.ts';
import { resolveLogLevel } from './journal/log.ts';
import { askPerson } from './route/approval.ts';
import {
  type Checks,
  options as checkOptions,
  choices,
  entries,
  fn,
  isA,
  methods,
  name,
} from './runtime/option-checks.ts';
import type { Runtime, RuntimeOverrides } from './runtime/runtime.ts';
import { applyNewOrders, subscribeToOrders } from './tasks/operator-orders.ts';

const checks: Checks = {
  agent: name,
  session: name,
  policy: isA,
  store: methods('cell', 'drop', 'keys', 'append', 'tail', 'putCard', 'card', 'cards', 'close'),
  clock: methods('nowMs', 'wallMs', 'after'),
  prices: methods('price', 'highestPrice'),
  approver: methods('ask'),
  mode: choices('enforce', 'observe'),
  onRefusal: choices('return', 'throw'),
  log: (what, value) => (typeof value === 'function' ? fn : choices('silent', 'trips', 'info', 'debug'))(what, value),
  project: name,
  env: entries,
};

let gears = 0;

export function createRuntime(options: SwitchgearOptions, overrides: RuntimeOverrides): Runtime {
  checkOptions('createSwitchgear', options, checks);
  const { log, policy } = options;
  const env = options.env ?? process.env;
  const {
    policyEngine,
    publishTasks = true,
    spendsJointBudgets = true,
    haltActions,
    limitQuestions,
    layer = 'library',
  } = overrides;
  const taken: AppliedPolicy = policyEngine?.apply(policy, env) ?? {
    settings: defaultSettings,
    ignored: [],
    loosened: [],
  };
  const { rules, budgets, content, ignored, loosened } = taken;
  const settings = overrides.settings?.(taken.settings) ?? taken.settings;
  const clock = options.clock ?? options.store?.clock ?? systemClock;
  const shared = options.store?.shared;
  const unique = `${shared?.process ?? process.pid}-${++gears}`;
  const session = options.session ?? generateSession(unique);
  const runtime: Runtime = {
    agent: options.agent ?? 'agent',
    session,
    isSessionGiven: options.session !== undefined,
    project: options.project ?? taken.project ?? process.cwd(),
    clock,
    store: options.store ?? memoryStore(clock),
    prices: options.prices ?? builtinPrices,
    approver: options.approver,
    mode: options.mode,
    throws: options.onRefusal === 'throw',
    policyEngine,
    env,
    settings,
    originOf: taken.originOf,
    rules,
    ask: askPerson,
    isDisposed: false,
    budgets: spendsJointBudgets ? budgets : undefined,
    content,
    own: undefined,
    layer,
    counts: shared?.counters?.decisions(layer) ?? zeroDecisions(),
    counters: shared?.counters,
    onDecided: undefined,
    logLevel: resolveLogLevel(log),
    print: typeof log === 'function' ? log : (line) => process.stderr.write(`${line}\n`),
    listeners: [],
    errors: 0,
    isReportingError: false,
    breakers: new Map(),
    breakerControls: new Map(),
    tunings: new Map(),
    heldNames: new Set(),
    health: undefined,
    epoch: 1,
    boundRules: undefined,
    callSites: new Map(),
    targets: new Map(),
    namedCells: createWeighedKeys(workerCellsMax, failedWorkersMax),
    returns: new Map(),
    tasks: new Map(),
    taskControls: new Map(),
    halted: new Map(),
    cancelSweep: undefined,
    timeouts: createTimerQueue(clock),
    hold: createProcessHold(clock),
    probes: new Set(),
    waiting: new Map(),
    haltActions,
    limitQuestions,
    inputs: new Map(),
    reportedOnce: new Set(),
    applyOrders: undefined,
    showing: undefined,
    ids: 0,
    idStem: shared === undefined ? session : unique,
  };
  runtime.applyOrders = subscribeToOrders(runtime);
  for (const { name, value, used = 'no such setting', message } of ignored) {
    const entry = { type: 'setting-ignored', name, value, used: String(used) } as const;
    appendEntry(runtime, message === undefined ? entry : { ...entry, message });
  }
  for (const { name, value, before } of loosened) {
    appendEntry(runtime, { type: 'setting-loosened', name, value, before: String(before) });
  }
  if (shared !== undefined) watchStore(runtime, shared, publishTasks);
  return runtime;
}

/** Watches a shared store: reports its health, and passes answers of other processes to waiting calls. */
function watchStore(runtime: Runtime, shared: SharedStore, publishTasks: boolean): void {
  const showing = publishTasks ? shared.publishTasks?.(runtime) : undefined;
  if (showing !== undefined) runtime.listeners = [showing.onEntry];
  runtime.showing = showing;
  const { state, reason } = shared.health;
  if (state === 'degraded') appendEntry(runtime, { type: 'store-degraded', reason });
  shared.watch((hint) => {
    if (hint.type !== 'cell-changed') appendEntry(runtime, { type: `store-${hint.type}`, reason: hint.reason });
    else if (hint.key === ordersKey) applyNewOrders(runtime);
    else if (hint.key.startsWith('card/')) {
      const card = runtime.store.card(hint.key.slice(5));
      if (card?.state !== 'answered') return;
      {
        const { answer, by = '', note } = card;
        runtime.waiting.get(card.id)?.({ ...readApproval(answer), by, ...(note !== undefined && { note }) });
      }
    }
  });
}

/** Whether the answer to a question approves it; edited arguments are sealed in the store. */
function readApproval(answer: Card['answer']): Pick<Answer, 'approved' | 'isEdited'> {
  return answer === 'approve_edited' ? { approved: true, isEdited: true } : { approved: answer === 'approve' };
}
