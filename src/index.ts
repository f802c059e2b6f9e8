/** The entry point `switchgear`. */

import './platform/node-version.ts';

export type { Action, ActionKind, Cost, Outcome, Permit, RuleHit } from './core/action.ts';
export type { AnsweredCard, Card, CardAction, QuestionCard } from './core/card.ts';
export type { Ending } from './core/classify.ts';
export type { CellOwner, Control, ControlScope, Gauge } from './core/control.ts';
export type { BreakerMetrics } from './core/controls/breaker/metrics.ts';
export type { BreakerStats } from './core/controls/breaker/stats.ts';
export type { Code } from './core/controls/registry.ts';
export { SwitchgearError } from './core/error.ts';
export type { ActionProposed, ControlEvent, Entry, EntryBody, EntryType } from './core/event.ts';
export { type HaltedResult, type HaltFacts, haltOf } from './core/messages/halt-of.ts';
export { isRefused, type Refusal, type Refused, RefusedError, refusalOf } from './core/refusal.ts';
export type { BreakerSettings, Settings, TaskSettings } from './core/settings.ts';
export { allow, type Counters, type Decision, type Stop, type Verdict, type Vote } from './core/verdict.ts';
export type {
  AnyFunction,
  BreakerHandle,
  BreakerSnapshot,
  Call,
  EntryOf,
  Observation,
  PolicyInput,
  Snapshot,
  Switchgear,
  SwitchgearOptions,
  Task,
  TaskLimits,
  TaskOptions,
  TaskResult,
  TaskResultDone,
  TaskResultHalted,
  TaskSnapshot,
  ThrowingSwitchgear,
} from './guard/api.ts';
export type {
  Admission,
  AdmitOptions,
  DelegateOptions,
  GuardedRunOptions,
  GuardOptions,
  MaxCost,
  RetryOptions,
  Watch,
  WatchOptions,
  WatchSource,
} from './guard/call-options.ts';
export type { Cards } from './guard/cards-api.ts';
export { configureSwitchgear, createSwitchgear, defaultSwitchgear } from './guard/create-switchgear.ts';
export type { FormedFunction, Guarded, GuardedResult } from './guard/guarded.ts';
export type { PolicyDocument } from './policy/table/policy-document.ts';
export type { Answer, Approver } from './ports/approver.ts';
export type { Clock } from './ports/clock.ts';
export type { Price, Prices, Usage } from './ports/prices.ts';
export type { Store } from './ports/store.ts';
export { memoryStore } from './stores/memory.ts';
