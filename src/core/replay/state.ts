/** The state of a replay: breakers, cells and tasks, bound as the guard binds them. */

import type { Action } from '../action.ts';
import { cellKey, isGeneratedSession } from '../cell-key.ts';
import type { Control } from '../control.ts';
import { type BreakerState, initialBreaker } from '../controls/breaker/state.ts';
import { jointBudget } from '../controls/budget/joint-budget.ts';
import { bindToolLimit, isToolCall, toolBudget } from '../controls/budget/tool-limit.ts';
import { type DelegationState, delegationOutsideTasks, isCounted } from '../controls/delegation/delegation.ts';
import { bindBreaker, bindDelegations, bindSharedControls, type ControlCell } from '../controls/panel.ts';
import { rulesControl } from '../controls/rules/control.ts';
import { parseRuleText, type Rule } from '../controls/rules/rule.ts';
import { createRuleSet } from '../controls/rules/rule-set.ts';
import type { BoundControl } from '../decide.ts';
import type { BreakerSettings, Settings } from '../settings.ts';
import { createReplayTasks, type ReplayTasks } from './tasks.ts';

/** Properties of the recording gear that its journal does not contain. */
export interface ReplayOptions {
  /**
   * The custom controls of the gear.
   * @default []
   */
  readonly controls?: readonly Control[];
  /** All rules in force, a model's rules included. @default the rules of the policy */
  readonly rules?: readonly Rule[];
  /** The settings of one breaker. @default `circuitBreaker` with the tuned settings */
  readonly breakerSettings?: (name: string, agent: string, tuned: Partial<BreakerSettings>) => BreakerSettings;
  /**
   * The mode, if the gear set it in code.
   * @default the mode of the settings
   */
  readonly mode?: 'enforce' | 'observe';
}

/** The breakers, cells and tasks of a replay. */
export interface ReplayState {
  readonly tasks: ReplayTasks;
  /** The bound controls of a call, in the order of the guard: of equal verdicts, the first one is reported. */
  panelFor(action: Action, key: string | undefined): readonly BoundControl[];
  findBreaker(key: string): BreakerState | undefined;
  /** Changes a breaker as an operator or its health check does. */
  changeBreaker(key: string, name: string, change: (state: BreakerState, settings: BreakerSettings) => void): void;
  tune(name: string, overrides: Partial<BreakerSettings>): void;
  /** Removes the breakers of a task. */
  dropTaskBreakers(task: string): void;
}

/** The settings of a breaker without a resolved policy. */
export function breakerSettingsResolver(settings: Settings, options: ReplayOptions) {
  return (name: string, agent: string, tuned: Partial<BreakerSettings> = {}): BreakerSettings =>
    options.breakerSettings?.(name, agent, tuned) ?? { ...settings.circuitBreaker, ...tuned };
}

/** Creates the empty state of a replay. */
export function createReplayState(settings: Settings, options: ReplayOptions): ReplayState {
  const rules = options.rules ?? createRuleSet(settings.rules.flatMap((text) => parseRuleText(text).rule ?? [])).rules;
  const ownControls = (options.controls ?? []) as readonly Control[];
  const tasks = createReplayTasks(settings, options.controls ?? [], bindBudgets);
  const settingsFor = breakerSettingsResolver(settings, options);
  const breakers = new Map<string, ControlCell<BreakerState>>();
  const cells = new Map<string, ControlCell>();
  const tuned = new Map<string, Partial<BreakerSettings>>();

  function ensureCell<S>(key: string, control: Control<S>): ControlCell<S> {
    let holder = cells.get(key);
    if (holder === undefined) {
      holder = { state: control.initial(0) };
      cells.set(key, holder);
    }
    return holder as ControlCell<S>;
  }

  function ensureBreaker(key: string, breakerSettings: BreakerSettings): ControlCell<BreakerState> {
    let holder = breakers.get(key);
    if (holder === undefined) {
      holder = { state: initialBreaker(breakerSettings) };
      breakers.set(key, holder);
    }
    return holder;
  }

  function bindCell<S>(control: Control<S>, key: string): BoundControl {
    return { control, cell: ensureCell(key, control), cellOwner: 'self' };
  }

  /** A journal belongs to one project, so only sessions and agents differ. */
  function bindBudgets(agent: string, session: string): readonly BoundControl[] {
    // A journal does not tell the limits of keys.
    return settings.budgets.flatMap((budget, at) => {
      if (budget.scope === 'key' || budget.scope === 'model') return [];
      const owner = budget.scope === 'agent' ? agent : budget.scope === 'session' ? session : '';
      return [bindCell(jointBudget(budget), `budget\n${at}\n${owner}`)];
    });
  }

  return {
    tasks,
    panelFor(action, key) {
      const panel: BoundControl[] = [];
      if (key !== undefined) {
        const breakerSettings = settingsFor(action.name, action.agent, tuned.get(action.name));
        panel.push(bindBreaker(breakerSettings, ensureBreaker(key, breakerSettings)));
      }
      if (rules.length > 0) panel.push(bindCell(rulesControl(rules, settings.ruleSettings), 'rules'));
      panel.push(
        ...bindSharedControls(settings, { target: action.name, session: action.session }, (control, key) =>
          ensureCell(key.join('\n'), control),
        ),
      );
      for (const control of ownControls) {
        if (control.scope === 'task' || control.scope === 'chain') continue;
        const target = control.scope === 'target' ? action.name : '';
        panel.push(bindCell(control, `own\n${control.name}\n${control.scope === 'session' ? action.session : target}`));
      }
      const task = tasks.find(action.task);
      const isOutside = task === undefined;
      if (isCounted(settings.delegation, action) && (!isOutside || action.kind === 'delegation')) {
        const bind = (control: Control<DelegationState>, worker: string): BoundControl =>
          bindCell(control, `worker\n${action.session}\n${worker}`);
        const outside = () => delegationOutsideTasks(settings.delegation, !isGeneratedSession(action.session));
        panel.push(...bindDelegations(isOutside ? outside() : settings.delegation, action.name, bind));
      }
      const { maxCalls, maxCallsSession } = settingsFor(action.name, action.agent, tuned.get(action.name));
      if (maxCalls !== undefined && task !== undefined && isToolCall(action))
        panel.push(bindToolLimit(action.name, maxCalls, task.cells.budget, task.limits));
      if (maxCallsSession !== undefined && isToolCall(action)) {
        const control = jointBudget(toolBudget(action.name, maxCallsSession));
        panel.push(bindCell(control, `tool-calls\n${action.name}\n${action.session}`));
      }
      if (action.kind === 'model')
        for (const [at, budget] of settings.budgets.entries())
          if (budget.scope === 'model') panel.push(bindCell(jointBudget(budget), `budget\n${at}\n${action.name}`));
      return [...panel, ...(task?.boundControls ?? bindBudgets(action.agent, action.session))];
    },
    findBreaker: (key) => breakers.get(key)?.state,
    changeBreaker(key, name, change) {
      const breakerSettings = settingsFor(name, agentInKey(key), tuned.get(name));
      change(ensureBreaker(key, breakerSettings).state, breakerSettings);
    },
    tune: (name, overrides) => void tuned.set(name, { ...tuned.get(name), ...overrides }),
    dropTaskBreakers(task) {
      const part = `/task/${cellKey(task)}/`;
      for (const key of breakers.keys()) if (key.includes(part)) breakers.delete(key);
    },
  };
}

/** The agent in the key of a breaker with agent scope; settings may depend on it. */
export function agentInKey(key: string): string {
  return decodeURIComponent(/\/agent\/([^/]*)\//.exec(key)?.[1] ?? '');
}
