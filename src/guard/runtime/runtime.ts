/** The runtime of a gear: one record of its whole state, used by the functions of `guard/`. */

import type { WeighedKeys } from '../../core/bounded.ts';
import type { CardAction } from '../../core/card.ts';
import type { TaskControls } from '../../core/controls/panel.ts';
import type { BoundControl } from '../../core/decide.ts';
import { builtinPrices } from '../../core/prices/builtin-prices.ts';
import { quoteValue } from '../../core/quote.ts';
import type { RuleEngine } from '../../core/rule-engine.ts';
import type { BreakerSettings, Settings } from '../../core/settings.ts';
import type { Verdict } from '../../core/verdict.ts';
import type { ProcessHold } from '../../platform/process-hold.ts';
import type { TimerQueue } from '../../platform/timer-queue.ts';
import type { Answer, Approver } from '../../ports/approver.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JournalListener } from '../../ports/journal.ts';
import type { ApplyOrders } from '../../ports/orders.ts';
import type { AppliedPolicy, ArgumentContent, Budgets, PolicyEngine } from '../../ports/policy.ts';
import type { Prices } from '../../ports/prices.ts';
import type { ProcessCounters } from '../../ports/process-counters.ts';
import type { DecisionCounts, MetricLayer } from '../../ports/process-counts.ts';
import type { TaskPublisher } from '../../ports/published-tasks.ts';
import type { SharedRules } from '../../ports/sharing.ts';
import type { Store } from '../../ports/store.ts';
import type { Switchgear, SwitchgearOptions } from '../api.ts';
import type { BreakerControl, BreakerEntry } from '../breakers/breaker-registry.ts';
import type { HealthChecks } from '../extras/health-checks.ts';
import type { LogLevel } from '../journal/log.ts';
import type { askPerson } from '../route/approval.ts';
import type { CallSite, Target } from '../route/call-site.ts';
import type { LeasedCall } from '../route/live-call.ts';
import type { TaskState } from '../tasks/task.ts';
import { invalid } from './option-checks.ts';

export interface Runtime {
  readonly agent: string;
  readonly session: string;
  /** Whether the session was given by name: then it is one conversation. */
  readonly isSessionGiven: boolean;
  readonly project: string;
  readonly clock: Clock;
  readonly store: Store;
  prices: Prices;
  readonly approver: Approver | undefined;
  readonly mode: SwitchgearOptions['mode'];
  readonly throws: boolean;
  readonly policyEngine: PolicyEngine | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The settings in force; a reload replaces them. */
  settings: Settings;
  /** The origin of a setting by its path; undefined without a policy. */
  originOf: AppliedPolicy['originOf'];
  rules: RuleEngine | undefined;
  /** Asks a person about a call; chains replace this function. */
  ask: typeof askPerson;
  /** Where a person is asked to raise a limit, if not by the approver as soon as it is reached. */
  limitQuestions: 'at calls' | 'none' | undefined;
  /** Whether the gear was disposed; then waiting calls are refused. */
  isDisposed: boolean;
  /** Budgets beyond one task. */
  budgets: Budgets | undefined;
  /** Adds arguments to entries, if the policy enables it. */
  content: ArgumentContent | undefined;
  /** Custom controls, once there are any. */
  own: BoundCustomControls | undefined;

  /** The layer of this gear, and its decisions, counted for metrics. */
  layer: MetricLayer;
  counts: DecisionCounts;
  /** Learns how long each decision takes; absent = decisions are not timed. */
  onDecided: ((outcome: Verdict['kind'], ms: number) => void) | undefined;
  /** The counters of this process on the store of the gear; absent without a shared store. */
  readonly counters: ProcessCounters | undefined;

  readonly logLevel: LogLevel;
  readonly print: (line: string) => void;
  listeners: readonly JournalListener[];
  /** The number of swallowed errors, and whether one is being reported. */
  errors: number;
  isReportingError: boolean;

  readonly breakers: Map<string, BreakerEntry>;
  readonly breakerControls: Map<string, BreakerControl>;
  /** Settings by name from code, for existing and future breakers. */
  readonly tunings: Map<string, Partial<BreakerSettings>>;
  /** Names that are held by hand; a new breaker of such a name starts held. */
  readonly heldNames: Set<string>;
  /** Health checks, once there are any. */
  health: HealthChecks | undefined;

  /** Grows when settings, rules or controls change: call sites of an earlier number are made again. */
  epoch: number;
  boundRules: (BoundControl & { readonly control: Partial<Pick<SharedRules, 'countCall'>> }) | undefined;
  /** The call sites outside any task. */
  readonly callSites: Map<Target, CallSite>;
  readonly targets: Map<string, Target>;
  /** The keys of cells that hold a name from outside, oldest first. */
  readonly namedCells: WeighedKeys;
  /** The last answer of each worker, and its request. */
  readonly returns: Map<string, { readonly request: number; readonly text: string }>;

  readonly tasks: Map<string, TaskState>;
  readonly taskControls: Map<string, TaskControls>;
  /** Halted tasks that may be retried. */
  readonly halted: Map<string, TaskState>;
  /** Cancels the next sweep, if one is scheduled. */
  cancelSweep: (() => void) | undefined;

  readonly timeouts: TimerQueue;
  /** Keeps the process alive while a call or a task with limits is out. */
  readonly hold: ProcessHold;
  /** Running calls that hold a probe, whose leases must be renewed. */
  readonly probes: Set<LeasedCall>;
  /**
   * Pending waits: for answers by card id, which may come from another process, and for times. Calling one without an
   * answer ends the wait.
   */
  readonly waiting: Map<string | object, (answer?: Answer) => void>;
  /** The answers that cards of halts offer; undefined for those of the code. */
  readonly haltActions: readonly CardAction[] | undefined;
  /** The inputs of open questions of this gear, by card id. */
  readonly inputs: Map<string, string>;
  /** Applies operator orders; absent without a shared store. */
  applyOrders: ApplyOrders | undefined;
  /** Publishes changed tasks to other processes; absent without a shared store. */
  showing: TaskPublisher | undefined;
  /** Reports that are made once: a call without a task, a model without a price. */
  readonly reportedOnce: Set<string>;
  ids: number;
  /** The prefix of ids of this gear; unique on a shared store. */
  readonly idStem: string;
}

/** Internal options of gears that hooks, chains and the supervisor create. */
export interface RuntimeOverrides {
  /** Checks policies and makes their rules. Without it a gear takes no policy and reads no environment. */
  readonly policyEngine?: PolicyEngine;
  /** Changes the settings of the policy before they are in force. */
  readonly settings?: (settings: Settings) => Settings;
  /**
   * Whether other processes see the tasks of the gear.
   * @default true
   */
  readonly publishTasks?: boolean;
  /**
   * Whether calls spend from the joint budgets of the policy.
   * @default true
   */
  readonly spendsJointBudgets?: boolean;
  /**
   * The layer that the decisions of the gear are counted for.
   * @default 'library'
   */
  readonly layer?: MetricLayer;
  /** Where a person is asked to raise a limit, if not by the approver. */
  readonly limitQuestions?: 'at calls' | 'none';
  /**
   * The answers that cards of halts offer, where no program can act on the others.
   * @default those of the code
   */
  readonly haltActions?: readonly CardAction[];
}

/** The error that a custom control threw while it learnt of an event. */
export interface ControlHarm {
  error: unknown;
}

/** Custom controls, bound to their cells. */
export interface BoundCustomControls {
  readonly harm: ControlHarm;
  readonly ofTask: (task: TaskState) => readonly BoundControl[];
  readonly beside: (runtime: Runtime, target: Target, session: string) => readonly BoundControl[];
}

/** Whether the gear only reports. */
export function isObserving({ mode, settings }: Runtime): boolean {
  return (mode ?? settings.mode) === 'observe';
}

const insides = new WeakMap<object, Runtime>();

export function runtimeOf(gear: Switchgear): Runtime {
  const runtime = insides.get(gear);
  if (runtime === undefined) throw invalid(`the gear must be one that createSwitchgear made, got ${quoteValue(gear)}`);
  return runtime;
}

export function registerRuntime(gear: Switchgear, runtime: Runtime): void {
  insides.set(gear, runtime);
}

/** Gives a gear other prices, unless its user gave it some. */
export function useDefaultPrices(gear: Switchgear, prices: Prices): void {
  const runtime = runtimeOf(gear);
  if (runtime.prices === builtinPrices) runtime.prices = prices;
}
