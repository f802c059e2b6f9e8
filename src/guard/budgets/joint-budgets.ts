/** Binds budgets beyond one task: to exact sums in one process, or to an allowance on a shared store. */

import type { Action } from '../../core/action.ts';
import {
  type BudgetWindow,
  computeCharge,
  computeNeed,
  emptyWindow,
  jointBudget,
  limitInUnits,
  stopKindFor,
  stopOverBudget,
  takeNotice,
  usedAt,
} from '../../core/controls/budget/joint-budget.ts';
import type { BoundControl } from '../../core/decide.ts';
import type { EntryPlace } from '../../core/event.ts';
import { boundBudgetsMax, budgetSlices, sessionBudgetKeepMs } from '../../core/limits.ts';
import type { JointBudget } from '../../core/settings.ts';
import { allow, type Stop } from '../../core/verdict.ts';
import type { BudgetSet, Budgets } from '../../ports/policy.ts';
import type { CellOptions } from '../../ports/store.ts';
import { appendEntry, publishEntry } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createBudgetAllowance } from './allowance.ts';

/** The agent and session that spend, and their gear. */
interface Spender {
  readonly runtime: Runtime;
  readonly agent: string;
  readonly session: string;
}

/** One budget of one scope, as a bound control. */
interface Place {
  readonly bound: BoundControl;
  /** On a shared store: reserves what only the store can grant. */
  take?(action: Action, atMs: number): Stop | undefined;
  close?(): void;
}

/** Creates the budgets of a policy; undefined if it has none. */
export function createJointBudgets(list: readonly JointBudget[]): Budgets | undefined {
  if (list.length === 0) return undefined;
  const places = new Map<string, Place>();

  function placeOf(budget: JointBudget, spender: Spender): Place {
    const key = keyOf(budget, spender);
    const known = places.get(key);
    // The least recently used spender is evicted first.
    if (known === undefined) makeRoomFor(spender);
    else places.delete(key);
    const make = spender.runtime.store.shared === undefined ? bindLocal : bindShared;
    const place = known ?? make(budget, key, spender);
    places.set(key, place);
    return place;
  }

  function makeRoomFor({ runtime: { store } }: Spender): void {
    const [key, place] = places.size < boundBudgetsMax ? [] : places.entries().next().value!;
    if (key === undefined) return;
    places.delete(key);
    place?.close?.();
    if (store.shared === undefined) store.drop(key);
  }

  return {
    setFor(gear, { agent, session }): BudgetSet {
      const runtime = gear as Runtime; // Only a runtime has budgets.
      const all = list.map((budget) => placeOf(budget, { runtime, agent, session }));
      return {
        boundControls: all.map(({ bound }) => bound),
        reserve(action, atMs) {
          let waits: Stop | undefined;
          for (const { take } of all) {
            const stop = take?.(action, atMs);
            if (stop !== undefined && stop.kind !== 'wait') return stop;
            waits ??= stop; // Ask the other budgets in the same round, because the number of rounds is bounded.
          }
          return waits;
        },
      };
    },
    close() {
      for (const { close } of places.values()) close?.();
      places.clear();
    },
  };
}

/** The key of a budget, without the limit, so that the amount spent still counts under a raised limit. */
function keyOf({ scope, unit, windowSecs }: JointBudget, { runtime: { project }, agent, session }: Spender): string {
  const whose = { session: [session], agent: [project, agent], project: [project], global: [] }[scope];
  return ['budget', scope, unit, `${windowSecs ?? 'ever'}`, ...whose].map(encodeURIComponent).join('/');
}

/** Returns the session or agent of a budget's entries, by the scope of the budget. */
function placeFor({ scope }: JointBudget, { agent, session }: Spender): EntryPlace {
  return scope === 'session' ? { session } : scope === 'agent' ? { agent } : {};
}

function bindLocal(budget: JointBudget, key: string, spender: Spender): Place {
  const { runtime } = spender;
  const control = jointBudget(budget);
  const telling: typeof control = {
    ...control,
    apply(window, event, cellOwner) {
      const next = control.apply(window, event, cellOwner);
      const notice = takeNotice(next, budget, runtime.settings.task.noticeShare, event.atMs);
      if (notice !== undefined) appendEntry(runtime, notice, placeFor(budget, spender), event.atMs);
      return next;
    },
  };
  return {
    bound: {
      control: telling,
      cell: runtime.store.cell(key, emptyWindow),
      cellOwner: 'self',
    },
  };
}

function bindShared(budget: JointBudget, key: string, spender: Spender): Place {
  const { runtime } = spender;
  const { store, clock } = runtime;
  const options = optionsOf(budget);
  const cell = store.cell(key, emptyWindow, options);
  const allowance = createBudgetAllowance(store.shared!, clock, budget, cell, {
    keepMs: options.keepMs,
    notes(window, atMs) {
      const body = takeNotice(window, budget, runtime.settings.task.noticeShare, atMs);
      return body === undefined ? [] : [{ body, place: placeFor(budget, spender), atMs }];
    },
    say: (entry) => publishEntry(runtime, entry),
  });
  const control = jointBudget(budget);
  /** The last call that this budget allowed, until the decision of all controls is applied. */
  let taken: Action['id'] | undefined;
  const shared: typeof control = {
    ...control,
    // The allowance checks the amount of the call; this only checks whether usage reported later exceeded the limit.
    judge(window, { action, atMs }) {
      const used = usedAt(window, budget, atMs);
      return used > limitInUnits(budget) ? stopOverBudget(budget, used, stopKindFor(action)) : allow;
    },
    apply(_, event) {
      if (event.type === 'action-decided' && event.action.id === taken) {
        taken = undefined;
        const { verdict, action, atMs } = event;
        if (verdict.kind === 'allow') return cell.state;
        // Another control refused the call. A call that only has to wait will need the amount again.
        allowance.charge({ amount: -computeNeed(budget, action), atMs }, verdict.pending);
        return cell.state;
      }
      const charge = computeCharge(budget, event);
      if (charge !== undefined && charge.amount !== 0) allowance.charge(charge);
      return cell.state;
    },
  };
  return {
    bound: { control: shared, cell, cellOwner: 'self' },
    take(action, atMs) {
      const stop = allowance.take(computeNeed(budget, action), atMs, stopKindFor(action));
      if (stop === undefined) taken = action.id;
      return stop;
    },
    close: allowance.close,
  };
}

/** Joins two states by the larger amount of each slice; sets how long the cell is retained. */
function optionsOf({ scope, windowSecs }: JointBudget): CellOptions<BudgetWindow> {
  const keepMs =
    windowSecs !== undefined
      ? (windowSecs * 1000 * (budgetSlices + 2)) / budgetSlices
      : scope === 'session'
        ? sessionBudgetKeepMs
        : undefined;
  return { join: joined, ...(keepMs !== undefined && { keepMs: Math.ceil(keepMs) }) };
}

function joined(knownWindow: BudgetWindow, stored: BudgetWindow): BudgetWindow {
  const [newer, older] = knownWindow.at > stored.at ? [knownWindow, stored] : [stored, knownWindow];
  const later = newer.at - older.at;
  const sums = Array.from({ length: Math.max(newer.sums.length, older.sums.length) }, (_, age) =>
    Math.max(newer.sums[age] ?? 0, older.sums[age - later] ?? 0),
  );
  return { ...knownWindow, ...stored, at: newer.at, sums };
}
