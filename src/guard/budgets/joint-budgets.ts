/** Binds budgets beyond one task: to exact sums in one process, or to an allowance on a shared store. */

import type { Action } from '../../core/action.ts';
import { createWeighedKeys, type WeighedKeys } from '../../core/bounded.ts';
import { cellKey } from '../../core/cell-key.ts';
import {
  type BudgetWindow,
  computeCharges,
  computeNeed,
  emptyWindow,
  jointBudget,
  limitInUnits,
  type OwnedBudget,
  stopKindFor,
  stopOverBudget,
  takeNotice,
  usedAt,
} from '../../core/controls/budget/joint-budget.ts';
import type { BoundControl } from '../../core/decide.ts';
import type { EntryPlace } from '../../core/event.ts';
import { boundBudgetsMax, budgetSlices, sessionBudgetKeepMs, spentBudgetsMax } from '../../core/limits.ts';
import type { JointBudget } from '../../core/settings.ts';
import { allow, type Stop } from '../../core/verdict.ts';
import type { BudgetOwner, BudgetSet, Budgets, PayingKey } from '../../ports/policy.ts';
import type { CellOptions, Store } from '../../ports/store.ts';
import { appendEntry, publishEntry, reportForgotten } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createBudgetAllowance } from './allowance.ts';
import { openBudgetCard } from './budget-card.ts';

/** The agent and session that spend, and their gear. */
interface Spender extends BudgetOwner {
  readonly runtime: Runtime;
  readonly model?: string | undefined;
}

/** One budget of one scope, as a bound control. */
interface Place {
  readonly runtime: Runtime;
  readonly budget: OwnedBudget;
  readonly bound: BoundControl;
  /** Whether the place was evicted: a task that still has it finds the budget again by its key. */
  isEvicted?: boolean;
  /** On a shared store: reserves what only the store can grant. */
  take?(action: Action, atMs: number, isGrowth: boolean): Stop | undefined;
  close?(): void;
}

/** Creates the budgets of a policy, and those of tools with a limit per session. */
export function createJointBudgets(list: readonly JointBudget[]): Budgets {
  const general = list.filter(({ scope }) => scope !== 'key' && scope !== 'model');
  const ofKeys = list.filter(({ scope }) => scope === 'key');
  const ofModels = list.filter(({ scope }) => scope === 'model');
  const places = new Map<string, Place>();

  function placeOf(budget: OwnedBudget, spender: Spender): Place {
    const key = keyOf(budget, spender);
    const known = places.get(key);
    // A key of the gateway may be added again with another limit.
    const place = known?.budget.limit === budget.limit ? known : undefined;
    if (known !== undefined && place === undefined) known.close?.();
    // The least recently used spender is evicted first.
    if (known !== undefined) places.delete(key);
    else if (places.size >= boundBudgetsMax) evictFirst();
    const next = place ?? makePlace(budget, key, spender);
    places.set(key, next);
    return next;
  }

  function makePlace(budget: OwnedBudget, key: string, spender: Spender): Place {
    const { store } = spender.runtime;
    if (store.shared !== undefined) return bindShared(budget, key, spender);
    spentKeysOf(store).delete(key);
    return bindLocal(budget, key, spender, (window) => {
      store.cell(key, () => window); // What a task has spent in the meantime counts, unless others have spent, too.
      return placeOf(budget, spender).bound.cell.state as BudgetWindow;
    });
  }

  function evictFirst(): void {
    const [key, place] = places.entries().next().value!;
    places.delete(key);
    place.close?.();
    place.isEvicted = true;
    if (place.runtime.store.shared === undefined) keepSpent(place.runtime, key);
  }

  /** Keeps what an evicted spender has spent. Drops empty budgets first, then the oldest that are not used up. */
  function keepSpent(runtime: Runtime, key: string): void {
    const { store, clock } = runtime;
    const forgotten = spentKeysOf(store).add(key, (other) => {
      const window = store.cell(other, emptyWindow).state;
      const budget = list.find((each) => other === prefixOf(each) || other.startsWith(`${prefixOf(each)}/`));
      const used = budget === undefined ? 1 : usedAt(window, budget, clock.nowMs());
      return used === 0 ? 0 : budget !== undefined && used >= limitInUnits(budget) ? 2 : 1;
    });
    if (forgotten === undefined) return;
    store.drop(forgotten.key);
    if (forgotten.weight > 0) reportForgotten(runtime, 'budgets of sessions and agents');
  }

  return {
    setFor(gear, { agent, session, key }, { tool, model } = {}): BudgetSet {
      const runtime = gear as Runtime; // Only a runtime has budgets.
      const spender = { runtime, agent, session, key, model };
      const ofTask = [...general, ...listKeyBudgets(ofKeys, key)].map((budget) => placeOf(budget, spender));
      const ofTarget = [
        ...(model === undefined ? [] : ofModels.map((budget) => ({ ...budget, of: model }))),
        ...(tool ? [tool] : []),
      ].map((budget) => placeOf(budget, spender));
      const all = [...ofTask, ...ofTarget];
      return {
        boundControls: ofTask.map(({ bound }) => bound),
        targetControls: ofTarget.map(({ bound }) => bound),
        reserve(action, atMs, isGrowth = false) {
          let waits: Stop | undefined;
          for (const { take } of all) {
            const stop = take?.(action, atMs, isGrowth);
            if (stop !== undefined && stop.kind !== 'wait') return stop;
            waits ??= stop; // Ask the other budgets in the same round, because the number of rounds is bounded.
          }
          return waits;
        },
      };
    },
    close() {
      for (const [key, { runtime, close }] of places) {
        close?.();
        // Another gear on the same store may use the budget, so it is kept even if nothing was spent.
        if (runtime.store.shared === undefined) spentKeysOf(runtime.store).add(key, () => 1);
      }
      places.clear();
    },
  };
}

/** The budgets of a key: those of the policy for every key, and its own; of two for a unit and window the lower one. */
function listKeyBudgets(ofKeys: readonly JointBudget[], key: PayingKey | undefined): readonly OwnedBudget[] {
  if (key === undefined) return [];
  const merged = new Map<string, OwnedBudget>();
  for (const budget of [...ofKeys, ...key.budgets]) {
    const same = merged.get(prefixOf(budget));
    const isLower = same === undefined || same.mode === 'observe' || budget.limit < same.limit;
    if (isLower && (same === undefined || budget.mode !== 'observe'))
      merged.set(prefixOf(budget), { ...budget, of: key.name });
  }
  return [...merged.values()];
}

const spentKeys = new WeakMap<Store, WeighedKeys>();

/** The budgets in a store of one process that no place holds; they outlive a change of the policy. */
function spentKeysOf(store: Store): WeighedKeys {
  let keys = spentKeys.get(store);
  if (keys === undefined) {
    keys = createWeighedKeys(0, spentBudgetsMax);
    spentKeys.set(store, keys);
  }
  return keys;
}

/** The key of a budget, without the limit, so that the amount spent still counts under a raised limit. */
function keyOf(budget: JointBudget, { runtime: { project }, agent, session, key, model = '' }: Spender): string {
  const whose = {
    session: [session],
    agent: [project, agent],
    project: [project],
    global: [],
    key: [key?.name ?? ''],
    model: [model],
  }[budget.scope];
  return [prefixOf(budget), ...whose.map((each) => cellKey(each))].join('/');
}

function prefixOf(budget: JointBudget): string {
  const { scope, unit, windowSecs } = budget;
  if ('tool' in budget) return cellKey('tool-calls', String(budget.tool));
  return cellKey('budget', scope, unit, `${windowSecs ?? 'ever'}`);
}

/** The session, agent, key or model of a budget. */
function ownerOf({ scope }: JointBudget, { agent, session, key, model }: Spender): string | undefined {
  return { session, agent, key: key?.name, model, project: undefined, global: undefined }[scope];
}

/** Returns the session or agent of a budget's entries, by the scope of the budget. */
function placeFor({ scope }: JointBudget, { agent, session }: Spender): EntryPlace {
  return scope === 'session' ? { session } : scope === 'agent' ? { agent } : {};
}

function bindLocal(
  budget: OwnedBudget,
  key: string,
  spender: Spender,
  findAgain: (window: BudgetWindow) => BudgetWindow,
): Place {
  const { runtime } = spender;
  const control = jointBudget(budget);
  const current = (window: BudgetWindow) => (place.isEvicted ? findAgain(window) : window);
  const telling: typeof control = {
    ...control,
    judge: (window, proposal, cellOwner) => control.judge(current(window), proposal, cellOwner),
    judgeGrowth: (window, growth) => control.judgeGrowth!(current(window), growth),
    check: (window, atMs) => control.check!(current(window), atMs),
    apply(window, event, cellOwner) {
      const next = control.apply(current(window), event, cellOwner);
      const notice = takeNotice(next, budget, runtime.settings.task.noticeShare, event.atMs);
      if (notice === undefined) return next;
      appendEntry(runtime, notice, placeFor(budget, spender), event.atMs);
      openBudgetCard(runtime, budget, ownerOf(budget, spender), notice, next.noticed?.[2] ?? 0, event.atMs);
      return next;
    },
  };
  const place: Place = {
    ...{ runtime, budget },
    bound: {
      control: telling,
      cell: runtime.store.cell(key, emptyWindow),
      cellOwner: 'self',
    },
  };
  return place;
}

function bindShared(budget: OwnedBudget, key: string, spender: Spender): Place {
  const { runtime } = spender;
  const { store, clock } = runtime;
  const options = optionsOf(budget);
  const cell = store.cell(key, emptyWindow, options);
  /** The share of the last notice. */
  let share = 0;
  const allowance = createBudgetAllowance(store.shared!, clock, budget, cell, {
    keepMs: options.keepMs,
    notes(window, atMs) {
      const body = takeNotice(window, budget, runtime.settings.task.noticeShare, atMs);
      if (body === undefined) return [];
      share = window.noticed?.[2] ?? 0;
      return [{ body, place: placeFor(budget, spender), atMs }];
    },
    say(entry) {
      publishEntry(runtime, entry);
      if (entry.type === 'notice')
        openBudgetCard(runtime, budget, ownerOf(budget, spender), entry, share, clock.nowMs());
    },
  });
  const control = jointBudget(budget);
  /** The last call that this budget allowed, until the decision of all controls is applied. */
  let taken: { readonly id: Action['id']; readonly amount: number } | undefined;
  const shared: typeof control = {
    ...control,
    // The allowance checks the amount of the call; this only checks whether usage reported later exceeded the limit.
    judge(window, { action, atMs }) {
      const used = usedAt(window, budget, atMs);
      return used > limitInUnits(budget) && budget.mode !== 'observe'
        ? stopOverBudget(budget, used, stopKindFor(action))
        : allow;
    },
    // The allowance checks growth, too; without it, a probe is answered by what this process knows.
    judgeGrowth(window, growth) {
      if (!growth.isProbe) return allow;
      const { action, atMs, micros, tokens } = growth;
      const need = computeNeed(budget, { ...action, worstMicros: micros, worstTokens: tokens });
      const used = usedAt(window, budget, atMs) - allowance.left + need;
      return used > limitInUnits(budget) ? stopOverBudget(budget, used, stopKindFor(action)) : allow;
    },
    apply(_, event) {
      if (event.type === 'reservation-changed' && event.permit.action.id === taken?.id) {
        const [own = { amount: 0, atMs: event.atMs }, ...moved] = computeCharges(budget, event);
        const rest = own.amount - taken.amount;
        taken = undefined;
        for (const charge of [{ ...own, amount: rest }, ...moved]) if (charge.amount !== 0) allowance.charge(charge);
        return cell.state;
      }
      if (event.type === 'action-decided' && event.action.id === taken?.id) {
        taken = undefined;
        const { verdict, action, atMs } = event;
        if (verdict.kind === 'allow') return cell.state;
        // Another control refused the call. A call that only has to wait will need the amount again.
        allowance.charge({ amount: -computeNeed(budget, action), atMs }, verdict.pending);
        return cell.state;
      }
      for (const charge of computeCharges(budget, event)) allowance.charge(charge);
      return cell.state;
    },
  };
  return {
    ...{ runtime, budget },
    bound: { control: shared, cell, cellOwner: 'self' },
    take(action, atMs, isGrowth) {
      const amount = isGrowth && budget.unit === 'model_calls' ? 0 : computeNeed(budget, action);
      // A budget that only observes books what is used, whatever its limit.
      const stop =
        budget.mode === 'observe'
          ? allowance.charge({ amount, atMs })
          : allowance.take(amount, atMs, stopKindFor(action));
      if (stop === undefined) taken = { id: action.id, amount };
      return stop ?? undefined;
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
