/**
 * Shares rule counts between processes: a call is marked in the store before it is allowed, so that all processes
 * together stay within the window. A mark for a call that had to retry is reserved for the next call of its group.
 */

import type { Action } from '../core/action.ts';
import { cellKey } from '../core/cell-key.ts';
import type { Control } from '../core/control.ts';
import { type CountedRule, isApproved, isChainRun, type RulesControl } from '../core/controls/rules/control.ts';
import type { ControlEvent } from '../core/event.ts';
import { frequencyHistoryMax, grantKeepMs, ruleCellsMax } from '../core/limits.ts';
import { isRetry, retryTimeAfter } from '../core/retry-delay.ts';
import type { Stop } from '../core/verdict.ts';
import type { RuleSharing, SharedRules } from '../ports/sharing.ts';
import type { StoreHealth, Transaction, TransactionResult, WindowCount } from '../ports/store.ts';

/** The part of a store that shared rules use. */
export interface WindowStore {
  readonly process: string;
  health(): StoreHealth;
  commitNow(transaction: Transaction): TransactionResult;
  commit(transaction: Transaction): Promise<TransactionResult>;
  windowCount(key: string, atMs: number, keepMs: number): WindowCount;
}

/** A mark in the store, and when it was made. */
interface Mark {
  readonly id: string;
  readonly sinceMs: number;
}

/** A set of windows in which the same calls are marked together. */
interface Group {
  readonly counted: readonly (CountedRule & { readonly window: string })[];
  /** The length of the shortest window. */
  readonly keepMs: number;
  /** Marks that no call has used yet. */
  ready: Mark[];
  pendingRequests: number;
  /** When the oldest pending request was sent. */
  sinceMs: number;
  /** The retry times of waiting callers, earliest first. */
  waiting: number[];
  /** The window that was full at the last rejection, and when its oldest mark leaves it. */
  full: { readonly window: string; readonly freeAtMs: number } | undefined;
}

/** Creates the sharing of rule counts over a store; the same control gives the same shared control. */
export function shareRules(store: WindowStore): RuleSharing {
  const sharedControls = new WeakMap<Control, SharedRules>();
  let marks = 0;
  // One counter for all gears of a process, because the store counts equal mark ids once.
  const nextMark = () => `${store.process}/${++marks}`;
  return {
    bind(control, project) {
      const bound = sharedControls.get(control);
      if (bound !== undefined) return bound;
      const sharedControl = shareControl({ store, nextMark, control: control as RulesControl, project });
      sharedControls.set(control, sharedControl);
      return sharedControl;
    },
  };
}

/** The fixed parts of one shared rules control. */
interface RulesParts {
  readonly store: WindowStore;
  nextMark(): string;
  readonly control: RulesControl;
  readonly project: string;
}

/** The rules of one gear as this process shares them. */
interface LocalRules extends RulesParts {
  readonly groups: Map<string, Group>;
  /** The last call that was marked, until its decision is known. */
  lastMarked: { readonly id: Action['id']; readonly group: Group; readonly mark: Mark } | undefined;
}

function shareControl(parts: RulesParts): SharedRules {
  const { control } = parts;
  const rules: LocalRules = { ...parts, groups: new Map(), lastMarked: undefined };
  return {
    ...control,
    countCall: (action, atMs) => countCall(rules, action, atMs),
    apply(state, event: ControlEvent, cellOwner) {
      if (event.type === 'action-decided' && event.action.id === rules.lastMarked?.id) {
        const { group, mark } = rules.lastMarked;
        // Another control refused the call, so its mark is free for the next call.
        if (event.verdict.kind !== 'allow') group.ready.push(mark);
        rules.lastMarked = undefined;
      }
      return control.apply(state as never, event, cellOwner);
    },
  } as SharedRules;
}

/** Marks a call in its windows; returns a stop if a window is full or the store has to be asked first. */
function countCall(rules: LocalRules, action: Action, atMs: number): Stop | undefined {
  const { store, control } = rules;
  const group = findGroup(rules, action);
  if (group === undefined) return undefined;
  updateWaiting(group, atMs);
  const ready = group.ready.shift();
  if (ready !== undefined) return useReadyMark(rules, action, group, ready, atMs);
  const refusal = checkFull(control, group, action, atMs);
  if (refusal !== undefined) return refusal;
  const mark = { id: rules.nextMark(), sinceMs: atMs };
  const result = store.commitNow(makeTransaction(group, action, mark, store.health().state === 'degraded'));
  if (result.status === 'committed' || result.status === 'queued') return recordMark(rules, action, group, mark);
  if (result.status === 'rejected' && result.by === 'mark') {
    recordFullWindow(store, group, result.key, atMs);
    const stop = checkFull(control, group, action, atMs);
    if (stop !== undefined) return stop;
  }
  if (group.pendingRequests <= group.waiting.length) void requestMark(rules, group, action, atMs);
  const retryAtMs = retryTimeAfter(atMs, group.sinceMs);
  group.waiting.push(retryAtMs);
  const counters = { rule: group.counted[0]!.rule.id };
  return { kind: 'wait', code: 'rule_throttled', control: control.name, counters, retryAtMs, pending: true };
}

/** Returns the group of windows that count an action, or undefined if no rule counts it. */
function findGroup({ control, project, groups }: LocalRules, action: Action): Group | undefined {
  const counted = control.countingRules(action).filter(({ condition }) => condition.count > 0);
  if (counted.length === 0) return undefined;
  const inWindows = counted.map((item) => ({ ...item, window: windowKey(item, action, project) }));
  const key = inWindows.map(({ window }) => window).join('\n');
  let group = groups.get(key);
  if (group === undefined) {
    if (groups.size >= ruleCellsMax) groups.delete(groups.keys().next().value!);
    const keepMs = Math.min(...counted.map(({ condition }) => condition.windowMs));
    group = { counted: inWindows, keepMs, ready: [], pendingRequests: 0, sinceMs: 0, waiting: [], full: undefined };
    groups.set(key, group);
  }
  return group;
}

function makeTransaction(
  { counted }: Group,
  action: Action,
  { id, sinceMs: atMs }: Mark,
  queueIfUnavailable: boolean,
): Transaction {
  return {
    queueIfUnavailable,
    marks: counted.map(({ window, rule, condition: { count, windowMs } }) => {
      // A call that a person approved is marked even if the window is full.
      const isFree = queueIfUnavailable || (rule.action === 'confirm' && isApproved(action, rule));
      const mark = { key: window, id, atMs, keepMs: windowMs, cap: frequencyHistoryMax };
      return isFree ? mark : { ...mark, most: count };
    }),
  };
}

/** Remembers which window was full, and when its oldest mark leaves it. */
function recordFullWindow(store: WindowStore, group: Group, window: string, atMs: number): void {
  const { condition } = group.counted.find((item) => item.window === window)!;
  const { oldestMs } = store.windowCount(window, atMs, condition.windowMs);
  group.full = { window, freeAtMs: oldestMs + condition.windowMs };
}

/** Returns the verdict of the rule whose window is known to be full, if that verdict stops the action. */
function checkFull(control: RulesControl, { counted, full }: Group, action: Action, atMs: number): Stop | undefined {
  if (full === undefined || atMs >= full.freeAtMs) return undefined;
  const item = counted.find(({ window }) => window === full.window)!;
  const verdict = control.judgeOverCount(item, action, atMs, full.freeAtMs);
  return verdict.kind === 'allow' ? undefined : verdict;
}

/** Requests a mark from the store and reserves it for the next call of the group. */
async function requestMark(rules: LocalRules, group: Group, action: Action, atMs: number): Promise<void> {
  const { store } = rules;
  if (group.pendingRequests++ === 0) group.sinceMs = atMs;
  const mark = { id: rules.nextMark(), sinceMs: atMs };
  const result = await store.commit(makeTransaction(group, action, mark, false));
  group.pendingRequests--;
  if (result.status === 'committed') group.ready.push(mark);
  else if (result.status === 'rejected' && result.by === 'mark') recordFullWindow(store, group, result.key, atMs);
}

/** Removes the first waiting caller if its retry time has come, and marks that have left their window. */
function updateWaiting(group: Group, atMs: number): void {
  if (isRetry(group.waiting[0], atMs)) group.waiting.shift();
  group.ready = group.ready.filter(({ sinceMs }) => atMs - sinceMs < group.keepMs);
}

function recordMark(rules: LocalRules, { id }: Action, group: Group, mark: Mark): undefined {
  rules.lastMarked = { id, group, mark };
}

/** Lets a call use a reserved mark. If the mark is stale, re-dates it to now, because a call counts when it runs. */
function useReadyMark(rules: LocalRules, action: Action, group: Group, mark: Mark, atMs: number): undefined {
  if (atMs - mark.sinceMs <= grantKeepMs) return recordMark(rules, action, group, mark);
  const moved = { ...mark, sinceMs: atMs };
  rules.store.commitNow(makeTransaction(group, action, moved, true));
  return recordMark(rules, action, group, moved);
}

/** Returns the key of a window: chain runs are counted over all projects, other calls per project. */
function windowKey({ key }: CountedRule, action: Action, project: string): string {
  return cellKey('frequency', isChainRun(action) ? '' : project, key);
}
