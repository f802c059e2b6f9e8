/** Budgets beyond one task, seated: on exact sums in one process, on what is in hand where processes share a store. */

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

/** Who acts, and in which gear. */
interface Spender {
  readonly runtime: Runtime;
  readonly agent: string;
  readonly session: string;
}

/** One budget of one scope, as a panel sees it. */
interface Place {
  readonly bound: BoundControl;
  /** Where other processes spend from it, too: takes what only the store can grant. */
  take?(action: Action, atMs: number): Stop | undefined;
  close?(): void;
}

/** The budgets of a policy; undefined where it has none. */
export function createJointBudgets(list: readonly JointBudget[]): Budgets | undefined {
  if (list.length === 0) return undefined;
  const places = new Map<string, Place>();

  function placeOf(budget: JointBudget, spender: Spender): Place {
    const key = keyOf(budget, spender);
    const known = places.get(key);
    // Whoever was not needed for longest goes first.
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
      const runtime = gear as Runtime; // No other gear has budgets.
      const all = list.map((budget) => placeOf(budget, { runtime, agent, session }));
      return {
        boundControls: all.map(({ bound }) => bound),
        reserve(action, atMs) {
          let waits: Stop | undefined;
          for (const { take } of all) {
            const stop = take?.(action, atMs);
            if (stop !== undefined && stop.kind !== 'wait') return stop;
            waits ??= stop; // The others are asked meanwhile: a call has only so many rounds.
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

/** The limit is not part of it: a raised one goes on from what was spent. */
function keyOf({ scope, unit, windowSecs }: JointBudget, { runtime: { project }, agent, session }: Spender): string {
  const whose = { session: [session], agent: [project, agent], project: [project], global: [] }[scope];
  return ['budget', scope, unit, `${windowSecs ?? 'ever'}`, ...whose].map(encodeURIComponent).join('/');
}

/** Where what is said of a budget belongs. */
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
    } as unknown as BoundControl,
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
  /** The call that was last let through here, until everybody has heard of it. */
  let taken: Action['id'] | undefined;
  const shared: typeof control = {
    ...control,
    // Whether there is enough, the purse knows; what was told later may have passed the limit.
    judge(window, { action, atMs }) {
      const used = usedAt(window, budget, atMs);
      return used > limitInUnits(budget) ? stopOverBudget(budget, used, stopKindFor(action)) : allow;
    },
    apply(_, event) {
      if (event.type === 'action-decided' && event.action.id === taken) {
        taken = undefined;
        const { verdict, action, atMs } = event;
        if (verdict.kind === 'allow') return cell.state;
        // Somebody else was against it in the end; where that is only a question of time, it comes back for it.
        allowance.charge({ amount: -computeNeed(budget, action), atMs }, verdict.pending);
        return cell.state;
      }
      const charge = computeCharge(budget, event);
      if (charge !== undefined && charge.amount !== 0) allowance.charge(charge);
      return cell.state;
    },
  };
  return {
    bound: { control: shared, cell, cellOwner: 'self' } as unknown as BoundControl,
    take(action, atMs) {
      const stop = allowance.take(computeNeed(budget, action), atMs, stopKindFor(action));
      if (stop === undefined) taken = action.id;
      return stop;
    },
    close: allowance.close,
  };
}

/** Of two memories the one that saw more, slice by slice; and for how long it matters. */
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
