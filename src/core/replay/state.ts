/** The state that a replay builds up: breakers, cells and tasks, seated as the guard seats them. */

import type { Action } from '../action.ts';
import type { Control } from '../control.ts';
import { type BreakerState, initialBreaker } from '../controls/breaker/state.ts';
import { jointBudget } from '../controls/budget/joint-budget.ts';
import { type DelegationState, delegation, isCounted } from '../controls/delegation/delegation.ts';
import { bindBreaker, bindDelegation, type ControlCell } from '../controls/panel.ts';
import { rulesControl } from '../controls/rules/control.ts';
import { type Rule, ruleOf } from '../controls/rules/rule.ts';
import { ruleSet } from '../controls/rules/rule-set.ts';
import type { BoundControl } from '../decide.ts';
import type { BreakerSettings, Settings } from '../settings.ts';
import { type ReplayTasks, replayTasks } from './tasks.ts';

/** What a journal does not hold and the gear that wrote it had. */
export interface ReplayOptions {
  /** Controls of its own. */
  readonly controls?: readonly Control<never>[];
  /** All rules in force, those written by a model included; the policy's unless said. */
  readonly rules?: readonly Rule[];
  /** The settings of one breaker: `resolveBreaker` of the policy; `circuitBreaker` and what was tuned unless said. */
  readonly breakerSettings?: (name: string, agent: string, tuned: Partial<BreakerSettings>) => BreakerSettings;
  /** Where the gear was told its mode in code. */
  readonly mode?: 'enforce' | 'observe';
}

export interface ReplayState {
  readonly tasks: ReplayTasks;
  /** The seats of a call, in the order of the guard: of two equal verdicts the first is named. */
  panelOf(action: Action, key: string | undefined): readonly BoundControl[];
  find(key: string): BreakerState | undefined;
  /** Changes a breaker from outside: by hand, or by its health check. */
  handle(key: string, name: string, step: (state: BreakerState, settings: BreakerSettings) => void): void;
  tune(name: string, overrides: Partial<BreakerSettings>): void;
  /** Forgets the breakers of a task. */
  drop(task: string): void;
}

/** How a breaker is set where nobody resolves a policy. */
export function breakerSettingsOf(settings: Settings, options: ReplayOptions) {
  return (name: string, agent: string, tuned: Partial<BreakerSettings> = {}): BreakerSettings =>
    options.breakerSettings?.(name, agent, tuned) ?? { ...settings.circuitBreaker, ...tuned };
}

export function replayState(settings: Settings, options: ReplayOptions): ReplayState {
  const rules = options.rules ?? ruleSet(settings.rules.flatMap((text) => ruleOf(text).rule ?? [])).rules;
  const ownControls = (options.controls ?? []) as readonly Control[];
  const tasks = replayTasks(settings, options.controls ?? [], budgetsOf);
  const settingsFor = breakerSettingsOf(settings, options);
  const breakers = new Map<string, ControlCell<BreakerState>>();
  const cells = new Map<string, ControlCell>();
  const tuned = new Map<string, Partial<BreakerSettings>>();

  function cell<S>(key: string, control: Control<S>): ControlCell<S> {
    let holder = cells.get(key);
    if (holder === undefined) {
      holder = { state: control.initial(0) };
      cells.set(key, holder);
    }
    return holder as ControlCell<S>;
  }

  function breakerOf(key: string, of: BreakerSettings): ControlCell<BreakerState> {
    let holder = breakers.get(key);
    if (holder === undefined) {
      holder = { state: initialBreaker(of) };
      breakers.set(key, holder);
    }
    return holder;
  }

  function bindCell<S>(control: Control<S>, key: string): BoundControl {
    return { control, cell: cell(key, control), cellOwner: 'self' } as unknown as BoundControl;
  }

  /** A journal is one project's, so that only sessions and agents differ. */
  function budgetsOf(agent: string, session: string): readonly BoundControl[] {
    return settings.budgets.map((budget, at) => {
      const whose = budget.scope === 'agent' ? agent : budget.scope === 'session' ? session : '';
      return bindCell(jointBudget(budget), `budget\n${at}\n${whose}`);
    });
  }

  function workerCell(session: string, worker: string): ControlCell<DelegationState> {
    return cell(`worker\n${session}\n${worker}`, delegation(settings.delegation));
  }

  return {
    tasks,
    panelOf(action, key) {
      const panel: BoundControl[] = [];
      if (key !== undefined) {
        const of = settingsFor(action.name, action.agent, tuned.get(action.name));
        panel.push(bindBreaker(of, breakerOf(key, of)));
      }
      if (rules.length > 0) panel.push(bindCell(rulesControl(rules, settings.ruleSettings), 'rules'));
      for (const control of ownControls) {
        if (control.scope === 'task' || control.scope === 'chain') continue;
        const target = control.scope === 'target' ? action.name : '';
        panel.push(bindCell(control, `own\n${control.name}\n${control.scope === 'session' ? action.session : target}`));
      }
      const task = tasks.find(action.task);
      if (task === undefined) return [...panel, ...budgetsOf(action.agent, action.session)];
      if (isCounted(settings.delegation, action)) {
        panel.push(bindDelegation(settings.delegation, workerCell(action.session, action.name)));
      }
      return [...panel, ...task.boundControls];
    },
    find: (key) => breakers.get(key)?.state,
    handle(key, name, step) {
      const of = settingsFor(name, agentOf(key), tuned.get(name));
      step(breakerOf(key, of).state, of);
    },
    tune: (name, overrides) => void tuned.set(name, { ...tuned.get(name), ...overrides }),
    drop(task) {
      const part = `/task/${encodeURIComponent(task)}/`;
      for (const key of breakers.keys()) if (key.includes(part)) breakers.delete(key);
    },
  };
}

/** The agent in the key of a breaker that agents do not share; settings may differ by it. */
export function agentOf(key: string): string {
  return decodeURIComponent(/\/agent\/([^/]*)\//.exec(key)?.[1] ?? '');
}
