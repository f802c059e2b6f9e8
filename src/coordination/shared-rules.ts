/**
 * Frequency in common: what a rule counts is marked in the store before it is let through, so that all processes
 * together stay within the window. A mark that was made for a call that had to come back is kept for whoever does.
 */

import type { Action } from '../core/action.ts';
import type { Control } from '../core/control.ts';
import { type CountedRule, isChainRun, type RulesControl } from '../core/controls/rules/control.ts';
import type { ControlEvent } from '../core/event.ts';
import { frequencyHistoryMax, grantKeepMs, ruleCellsMax } from '../core/limits.ts';
import { isRetry, retryTimeAfter } from '../core/retry-delay.ts';
import type { Stop } from '../core/verdict.ts';
import type { RuleSharing, SharedRules } from '../ports/sharing.ts';
import type { StoreHealth, Transaction, TransactionResult, WindowCount } from '../ports/store.ts';

/** What sharing needs of its store. */
export interface WindowStore {
  readonly process: string;
  health(): StoreHealth;
  commitNow(transaction: Transaction): TransactionResult;
  commit(transaction: Transaction): Promise<TransactionResult>;
  windowCount(key: string, atMs: number, keepMs: number): WindowCount;
}

/** A mark that was made, and when. */
interface Mark {
  readonly id: string;
  readonly sinceMs: number;
}

/** The windows that some calls are marked in together. */
interface Group {
  readonly counted: readonly (CountedRule & { readonly window: string })[];
  /** How long a mark lies in all of them, and those that nobody has used. */
  readonly keepMs: number;
  ready: Mark[];
  /** Requests that are out, since when there is one, and when those come back who were sent away meanwhile. */
  pendingRequests: number;
  sinceMs: number;
  waiting: number[];
  /** The store's last no. */
  full: { readonly window: string; readonly freeAtMs: number } | undefined;
}

export function shareRules(store: WindowStore): RuleSharing {
  const sharedControls = new WeakMap<Control, SharedRules>();
  let marks = 0;
  // One count for all gears of a process: the same mark twice would be one.
  const nextMark = () => `${store.process}/${++marks}`;
  return {
    bind(control, project) {
      const bound = sharedControls.get(control);
      if (bound !== undefined) return bound;
      const sharedControl = shareControl(store, nextMark, control as RulesControl, project);
      sharedControls.set(control, sharedControl);
      return sharedControl;
    },
  };
}

function shareControl(store: WindowStore, nextMark: () => string, control: RulesControl, project: string): SharedRules {
  const { commitNow, commit, windowCount, health } = store;
  const groups = new Map<string, Group>();
  /** The last call that was marked, until everybody has heard of it. */
  let lastMarked: { readonly id: Action['id']; readonly group: Group; readonly mark: Mark } | undefined;

  function findGroup(action: Action): Group | undefined {
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
        // One that a person allowed is made whatever the count says.
        const isFree = queueIfUnavailable || (rule.action === 'confirm' && action.approvedBy !== undefined);
        const mark = { key: window, id, atMs, keepMs: windowMs, cap: frequencyHistoryMax };
        return isFree ? mark : { ...mark, most: count };
      }),
    };
  }

  /** Remembers which window was full, and when its oldest mark leaves it. */
  function recordFullWindow(group: Group, window: string, atMs: number): void {
    const { condition } = group.counted.find((item) => item.window === window)!;
    group.full = { window, freeAtMs: windowCount(window, atMs, condition.windowMs).oldestMs + condition.windowMs };
  }

  function checkFull({ counted, full }: Group, action: Action, atMs: number): Stop | undefined {
    if (full === undefined || atMs >= full.freeAtMs) return undefined;
    const item = counted.find(({ window }) => window === full.window)!;
    const verdict = control.judgeOverCount(item, action, atMs, full.freeAtMs);
    return verdict.kind === 'allow' ? undefined : verdict;
  }

  async function requestMark(group: Group, action: Action, atMs: number): Promise<void> {
    if (group.pendingRequests++ === 0) group.sinceMs = atMs;
    const mark = { id: nextMark(), sinceMs: atMs };
    const result = await commit(makeTransaction(group, action, mark, false));
    group.pendingRequests--;
    if (result.status === 'committed') group.ready.push(mark);
    else if (result.status === 'rejected' && result.by === 'mark') recordFullWindow(group, result.key, atMs);
  }

  /** Whether this is somebody who was sent away: they come back in the order they left in. */
  function admitReturned(group: Group, atMs: number): void {
    if (isRetry(group.waiting[0], atMs)) group.waiting.shift();
    group.ready = group.ready.filter(({ sinceMs }) => atMs - sinceMs < group.keepMs);
  }

  function recordPass({ id }: Action, group: Group, mark: Mark): undefined {
    lastMarked = { id, group, mark };
  }

  /** Lets a call pass by a mark that lies there. Of one that comes late it is moved: it counts when it runs. */
  function passByReadyMark(action: Action, group: Group, mark: Mark, atMs: number): undefined {
    if (atMs - mark.sinceMs <= grantKeepMs) return recordPass(action, group, mark);
    const moved = { ...mark, sinceMs: atMs };
    commitNow(makeTransaction(group, action, moved, true));
    return recordPass(action, group, moved);
  }

  return {
    ...control,
    countCall(action, atMs) {
      const group = findGroup(action);
      if (group === undefined) return undefined;
      admitReturned(group, atMs);
      const ready = group.ready.shift();
      if (ready !== undefined) return passByReadyMark(action, group, ready, atMs);
      const refusal = checkFull(group, action, atMs);
      if (refusal !== undefined) return refusal;
      const mark = { id: nextMark(), sinceMs: atMs };
      const result = commitNow(makeTransaction(group, action, mark, health().state === 'degraded'));
      if (result.status === 'committed' || result.status === 'queued') return recordPass(action, group, mark);
      if (result.status === 'rejected' && result.by === 'mark') {
        recordFullWindow(group, result.key, atMs);
        const stop = checkFull(group, action, atMs);
        if (stop !== undefined) return stop;
      }
      if (group.pendingRequests <= group.waiting.length) void requestMark(group, action, atMs);
      const retryAtMs = retryTimeAfter(atMs, group.sinceMs);
      group.waiting.push(retryAtMs);
      const counters = { rule: group.counted[0]!.rule.id };
      return { kind: 'wait', code: 'rule_throttled', control: control.name, counters, retryAtMs, pending: true };
    },
    apply(state, event: ControlEvent, cellOwner) {
      if (event.type === 'action-decided' && event.action.id === lastMarked?.id) {
        // Somebody else was against it in the end: it may come back.
        if (event.verdict.kind !== 'allow') lastMarked.group.ready.push(lastMarked.mark);
        lastMarked = undefined;
      }
      return control.apply(state as never, event, cellOwner);
    },
  } as SharedRules;
}

/** Runs of a chain are counted wherever it runs, calls by the project whose policy has the rule. */
function windowKey({ key }: CountedRule, action: Action, project: string): string {
  return ['frequency', isChainRun(action) ? '' : project, key].map(encodeURIComponent).join('/');
}
