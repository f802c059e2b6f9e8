/** The works of a gear: one record of everything that it holds. The files beside this one are functions over it. */

import { sonnetPrices } from '../../core/builtin-prices.ts';
import type { TaskControls } from '../../core/controls/panel.ts';
import type { Seat } from '../../core/decide.ts';
import type { RuleEngine } from '../../core/rule-engine.ts';
import type { BreakerSettings, Settings } from '../../core/settings.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { Answer, Approver } from '../../ports/approver.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Listener } from '../../ports/journal.ts';
import type { Obey } from '../../ports/orders.ts';
import type { Budgets, Content } from '../../ports/policy.ts';
import type { Prices } from '../../ports/prices.ts';
import type { Showing } from '../../ports/published-tasks.ts';
import type { SharedRules } from '../../ports/sharing.ts';
import type { Shared, Store } from '../../ports/store.ts';
import { memoryStore } from '../../stores/memory.ts';
import type { PolicyInput, SwitchgearOptions } from '../api.ts';
import type { BreakerControl, BreakerEntry } from '../breakers/breaker-registry.ts';
import type { HealthChecks } from '../extras/health-checks.ts';
import { write } from '../journal/journal.ts';
import { type LogLevel, logLevelOf } from '../journal/log.ts';
import { takePolicy } from '../policy/policy-engine.ts';
import { admit } from '../route/admission.ts';
import type { CallSite, Target } from '../route/call-site.ts';
import type { Leased } from '../route/live-call.ts';
import type { laterRounds } from '../route/rounds.ts';
import { obeyOrders } from '../tasks/operator-orders.ts';
import type { TaskNode } from '../tasks/task.ts';
import { type Checks, options as checkOptions, choices, entries, fn, isA, methods, name } from './option-checks.ts';
import { type Timeouts, timeouts } from './timeouts.ts';

export interface Runtime {
  readonly agent: string;
  readonly session: string;
  readonly project: string;
  readonly clock: Clock;
  readonly store: Store;
  readonly prices: Prices;
  readonly approver: Approver | undefined;
  readonly mode: SwitchgearOptions['mode'];
  readonly throws: boolean;
  readonly policy: PolicyInput | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** In force now; a reload replaces them. */
  settings: Settings;
  rules: RuleEngine | undefined;
  /** How actions come back that wait or are asked about; absent where nothing makes them. */
  rounds: typeof laterRounds | undefined;
  /** Budgets beyond one task. */
  budgets: Budgets | undefined;
  /** Where the journal holds arguments. */
  content: Content | undefined;
  /** The gate; controls of the user stand behind another one. */
  admit: typeof admit;
  own: OwnSeats | undefined;

  readonly logLevel: LogLevel;
  readonly print: (line: string) => void;
  listeners: readonly Listener[];
  /** Errors of listeners and of our own that were swallowed, and whether one is being told of. */
  errors: number;
  telling: boolean;

  readonly breakers: Map<string, BreakerEntry>;
  readonly breakerControls: Map<string, BreakerControl>;
  /** Settings given by name in code, for breakers that exist and that will. */
  readonly tunings: Map<string, Partial<BreakerSettings>>;
  /** Names that are held: a breaker of such a name is held from its first call on. */
  readonly heldNames: Set<string>;
  /** Where callees can be asked how they are. */
  health: HealthChecks | undefined;

  /** Grows when settings, rules or controls change: lanes of an earlier one are made anew. */
  epoch: number;
  rulesSeat: (Seat & { readonly control: Partial<Pick<SharedRules, 'take'>> }) | undefined;
  /** The lanes outside any task. */
  readonly callSites: Map<Target, CallSite>;
  readonly targets: Map<string, Target>;
  readonly workers: Set<string>;
  /** What each worker said last, and to which request. */
  readonly returns: Map<string, { readonly request: number; readonly text: string }>;

  readonly tasks: Map<string, TaskNode>;
  readonly taskControls: Map<string, TaskControls>;
  /** Tasks that were halted and may be tried again. */
  readonly halted: Map<string, TaskNode>;
  /** Ends the wait for the next sweep, while there is one. */
  disarm: (() => void) | undefined;

  readonly timeouts: Timeouts;
  /** Calls that are out and hold a probe: their leases have to be renewed. */
  readonly probes: Set<Leased>;
  /** What is waited for: answers by card, since one may come from elsewhere, and times. Each ends without any. */
  readonly waiting: Map<string | object, (answer?: Answer) => void>;
  /** Carries out what an operator ordered; absent where nobody shares the store. */
  obey: Obey | undefined;
  /** Writes down for others what changed in the tasks; absent where nobody shares the store. */
  showing: Showing | undefined;
  /** What is said once: that a call has no task, that a model has no price. */
  readonly told: Set<string>;
  ids: number;
  /** What ids of this gear begin with: unlike those of others, where others share the store. */
  readonly idStem: string;
}

/** Where controls of the user sit. */
export interface OwnSeats {
  readonly ofTask: (task: TaskNode) => readonly Seat[];
  readonly beside: (runtime: Runtime, target: Target, session: string) => readonly Seat[];
}

const checks: Checks = {
  agent: name,
  session: name,
  policy: isA,
  store: methods('cell', 'drop', 'keys', 'append', 'tail', 'putCard', 'card', 'cards', 'close'),
  clock: methods('nowMs', 'wallMs', 'after'),
  prices: methods('price', 'dearest'),
  approver: methods('ask'),
  mode: choices('enforce', 'observe'),
  onRefusal: choices('return', 'throw'),
  log: (what, value) => (typeof value === 'function' ? fn : choices('silent', 'trips', 'info'))(what, value),
  project: name,
  env: entries,
};

let gears = 0;

export function createRuntime(options: SwitchgearOptions): Runtime {
  checkOptions('createSwitchgear', options, checks);
  const { log, policy } = options;
  const env = options.env ?? process.env;
  const { settings, rules, rounds, budgets, content, ignored } = takePolicy(policy, env);
  const clock = options.clock ?? options.store?.clock ?? systemClock;
  const shared = options.store?.shared;
  const unique = `${shared?.process ?? process.pid}-${++gears}`;
  const session = options.session ?? `s-${unique}`;
  const runtime: Runtime = {
    agent: options.agent ?? 'agent',
    session,
    project: options.project ?? process.cwd(),
    clock,
    store: options.store ?? memoryStore(clock),
    prices: options.prices ?? sonnetPrices,
    approver: options.approver,
    mode: options.mode,
    throws: options.onRefusal === 'throw',
    policy,
    env,
    settings,
    rules,
    rounds: (rounds ?? shared?.breakers.rounds) as Runtime['rounds'],
    budgets,
    content,
    admit,
    own: undefined,
    logLevel: logLevelOf(log),
    print: typeof log === 'function' ? log : (line) => process.stderr.write(`${line}\n`),
    listeners: [],
    errors: 0,
    telling: false,
    breakers: new Map(),
    breakerControls: new Map(),
    tunings: new Map(),
    heldNames: new Set(),
    health: undefined,
    epoch: 1,
    rulesSeat: undefined,
    callSites: new Map(),
    targets: new Map(),
    workers: new Set(),
    returns: new Map(),
    tasks: new Map(),
    taskControls: new Map(),
    halted: new Map(),
    disarm: undefined,
    timeouts: timeouts(clock),
    probes: new Set(),
    waiting: new Map(),
    told: new Set(),
    obey: undefined,
    showing: undefined,
    ids: 0,
    idStem: shared === undefined ? session : unique,
  };
  runtime.obey = obeyOrders(runtime);
  for (const { name, value, used = 'no such setting' } of ignored) {
    write(runtime, { type: 'setting-ignored', name, value, used: String(used) });
  }
  if (shared !== undefined) watchStore(runtime, shared);
  return runtime;
}

/** What happens in a shared store: being away is said, and answers from elsewhere reach whoever asked. */
function watchStore(runtime: Runtime, shared: Shared): void {
  const showing = shared.show?.(runtime);
  if (showing !== undefined) runtime.listeners = [showing.heard];
  runtime.showing = showing;
  const { state, reason } = shared.health;
  if (state === 'degraded') write(runtime, { type: 'store-degraded', reason });
  shared.watch((hint) => {
    if (hint.type !== 'cell-changed') write(runtime, { type: `store-${hint.type}`, reason: hint.reason });
    else if (hint.key.startsWith('card/')) {
      const card = runtime.store.card(hint.key.slice(5));
      if (card?.state !== 'answered') return;
      runtime.waiting.get(card.id)?.({ approved: card.answer === 'approve', by: card.by ?? '' });
    }
  });
}

/** Whether the gear only reports. */
export function observes({ mode, settings }: Runtime): boolean {
  return (mode ?? settings.mode) === 'observe';
}
