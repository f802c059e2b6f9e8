/** The works of a gear: one record of everything that it holds. The files beside this one are functions over it. */

import type { TaskControls } from '../../core/controls/panel.ts';
import type { BoundControl } from '../../core/decide.ts';
import { quoteValue } from '../../core/quote.ts';
import type { RuleEngine } from '../../core/rule-engine.ts';
import type { BreakerSettings, Settings } from '../../core/settings.ts';
import type { TimerQueue } from '../../platform/timer-queue.ts';
import type { Answer, Approver } from '../../ports/approver.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JournalListener } from '../../ports/journal.ts';
import type { ApplyOrders } from '../../ports/orders.ts';
import type { ArgumentContent, Budgets, PolicyEngine } from '../../ports/policy.ts';
import type { Prices } from '../../ports/prices.ts';
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
  readonly project: string;
  readonly clock: Clock;
  readonly store: Store;
  readonly prices: Prices;
  readonly approver: Approver | undefined;
  readonly mode: SwitchgearOptions['mode'];
  readonly throws: boolean;
  readonly policyEngine: PolicyEngine | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** In force now; a reload replaces them. */
  settings: Settings;
  rules: RuleEngine | undefined;
  /** Asks a person about a call. Chains ask in their own way. */
  ask: typeof askPerson;
  /** After `dispose`: a call that waited or was asked about is refused. */
  isDisposed: boolean;
  /** Budgets beyond one task. */
  budgets: Budgets | undefined;
  /** Where the journal holds arguments. */
  content: ArgumentContent | undefined;
  /** Custom controls, once there are any. */
  own: BoundCustomControls | undefined;

  readonly logLevel: LogLevel;
  readonly print: (line: string) => void;
  listeners: readonly JournalListener[];
  /** Errors of listeners and of our own that were swallowed, and whether one is being told of. */
  errors: number;
  isReportingError: boolean;

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
  boundRules: (BoundControl & { readonly control: Partial<Pick<SharedRules, 'countCall'>> }) | undefined;
  /** The lanes outside any task. */
  readonly callSites: Map<Target, CallSite>;
  readonly targets: Map<string, Target>;
  readonly workers: Set<string>;
  /** What each worker said last, and to which request. */
  readonly returns: Map<string, { readonly request: number; readonly text: string }>;

  readonly tasks: Map<string, TaskState>;
  readonly taskControls: Map<string, TaskControls>;
  /** Tasks that were halted and may be tried again. */
  readonly halted: Map<string, TaskState>;
  /** Ends the wait for the next sweep, while there is one. */
  cancelSweep: (() => void) | undefined;

  readonly timeouts: TimerQueue;
  /** Calls that are out and hold a probe: their leases have to be renewed. */
  readonly probes: Set<LeasedCall>;
  /** What is waited for: answers by card, since one may come from elsewhere, and times. Each ends without any. */
  readonly waiting: Map<string | object, (answer?: Answer) => void>;
  /** Carries out what an operator ordered; absent where nobody shares the store. */
  applyOrders: ApplyOrders | undefined;
  /** Writes down for others what changed in the tasks; absent where nobody shares the store. */
  showing: TaskPublisher | undefined;
  /** What is said once: that a call has no task, that a model has no price. */
  readonly reportedOnce: Set<string>;
  ids: number;
  /** What ids of this gear begin with: unlike those of others, where others share the store. */
  readonly idStem: string;
}

/** What hooks, chains and the supervisor set on a gear of theirs, beyond the options of the library. */
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
