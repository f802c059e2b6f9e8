/** Seats the panel of one target in one task, and keeps it until the settings change. */

import type { Control } from '../core/control.ts';
import type { Panel, Seat } from '../core/decide.ts';
import { type DelegationState, delegation, isCounted } from '../core/delegation.ts';
import { patienceMaxMs } from '../core/limits.ts';
import { breakerSeat, type Holder } from '../core/panel.ts';
import { rulesControl } from '../core/rules/control.ts';
import type { Rule } from '../core/rules/rule.ts';
import type { BreakerSettings, Settings } from '../core/settings.ts';
import { resolveBreaker } from '../policy/resolve.ts';
import type { Store } from '../ports/store.ts';
import type { Breakers } from './breakers.ts';
import type { Lane } from './lanes.ts';
import { breakerKey, type Target } from './targets.ts';
import type { TaskNode } from './task-node.ts';

export interface SeatingOptions {
  readonly store: Store;
  readonly breakers: Breakers;
  readonly agent: string;
  readonly session: string;
  readonly project: string;
  readonly ownControls: readonly Control<never>[];
  readonly settings: () => Settings;
  readonly rules: () => readonly Rule[];
  /** Settings given by name in code: `breaker(name)` tuned, `getCircuitBreaker(name, config)`. */
  readonly tunings: ReadonlyMap<string, Partial<BreakerSettings>>;
}

export interface Seating {
  lane(target: Target, task: TaskNode | undefined): Lane;
  /** The cell of a worker's failures in a session. */
  worker(session: string, worker: string): Holder<DelegationState>;
  /** Forgets what was resolved: settings, rules or tunings changed. */
  renew(): void;
  readonly epoch: number;
}

export function createSeating(options: SeatingOptions): Seating {
  const { store, breakers, ownControls, tunings } = options;
  let epoch = 1;
  let rulesSeat: Seat | undefined;
  let settingsOf = new Map<string, BreakerSettings>();
  let outside = new Map<Target, Lane>();

  function settingsFor(target: Target, agent: string): BreakerSettings {
    const key = `${agent}\n${target.name}`;
    const known = target.overrides === undefined ? settingsOf.get(key) : undefined;
    if (known !== undefined) return known;
    const overrides = { ...target.overrides, ...tunings.get(target.name) };
    const settings = resolveBreaker(options.settings(), { tool: target.name, agent, overrides });
    if (target.overrides === undefined) {
      if (settingsOf.size >= 10_000) settingsOf.clear();
      settingsOf.set(key, settings);
    }
    return settings;
  }

  function rules(): Seat | undefined {
    const inForce = options.rules();
    if (inForce.length === 0) return undefined;
    const control = rulesControl(inForce, options.settings().ruleSettings);
    rulesSeat ??= { control, cell: store.cell('rules', () => control.initial(0)), place: 'self' } as unknown as Seat;
    return rulesSeat;
  }

  function worker(session: string, name: string): Holder<DelegationState> {
    const key = `worker/${encodeURIComponent(session)}/${encodeURIComponent(name)}`;
    return store.cell(key, () => delegation(options.settings().delegation).initial(0)) as Holder<DelegationState>;
  }

  function own(target: Target, session: string): readonly Seat[] {
    return ownControls
      .filter(({ scope }) => scope !== 'task' && scope !== 'chain')
      .map((control) => {
        const part = control.scope === 'target' ? `/target/${encodeURIComponent(target.name)}` : '';
        const whose = control.scope === 'session' ? `/session/${encodeURIComponent(session)}` : part;
        const cell = store.cell(`own/${encodeURIComponent(control.name)}${whose}`, () => control.initial(0));
        return { control, cell, place: 'self' } as unknown as Seat;
      });
  }

  function make(target: Target, task: TaskNode | undefined): Lane {
    const agent = task?.agent ?? options.agent;
    const session = task?.session ?? options.session;
    const settings = settingsFor(target, agent);
    const caller = { project: options.project, agent, session, task };
    const delegated = target.kind === 'delegation';
    const breaker = delegated
      ? undefined
      : breakers.open(breakerKey(target, settings, caller), target, agent, settings);
    const panel: Seat[] = [];
    if (breaker !== undefined) panel.push(breakerSeat(settings, breaker.cell));
    const ruled = rules();
    if (ruled !== undefined) panel.push(ruled);
    panel.push(...own(target, session));
    if (task !== undefined) {
      const counted = options.settings().delegation;
      if (isCounted(counted, target)) {
        const cell = worker(session, target.name);
        panel.push({ control: delegation(counted), cell, place: 'self' } as unknown as Seat);
      }
      panel.push(...task.seats);
    }
    const timeoutMs = delegated || target.kind === 'model' ? 0 : (settings.timeoutSecs ?? 0) * 1000;
    return {
      target,
      task,
      panel: panel as Panel,
      breaker,
      timeoutMs,
      patienceMs: timeoutMs > 0 ? Math.min(timeoutMs, patienceMaxMs) : patienceMaxMs,
      place: task === undefined ? { session, agent } : { task: task.id, session, agent },
      agent,
      session,
      epoch,
    };
  }

  return {
    lane(target, task) {
      if (task !== undefined) task.lanes ??= new Map();
      const lanes = task?.lanes ?? outside;
      let lane = lanes.get(target);
      if (lane === undefined || lane.epoch !== epoch) {
        if (lanes.size >= 10_000) lanes.clear();
        lane = make(target, task);
        lanes.set(target, lane);
      }
      return lane;
    },
    worker,
    renew() {
      epoch++;
      rulesSeat = undefined;
      settingsOf = new Map();
      outside = new Map();
    },
    get epoch() {
      return epoch;
    },
  };
}
