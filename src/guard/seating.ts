/** Seats the panel of one target in one task, and keeps it until the settings change. */

import type { Control } from '../core/control.ts';
import type { Panel, Seat } from '../core/decide.ts';
import { type DelegationState, delegation, isCounted } from '../core/delegation.ts';
import { lanesMax, patienceMaxMs, sharedSettingsMax, workerCellsMax } from '../core/limits.ts';
import type { Holder } from '../core/panel.ts';
import type { RuleEngine } from '../core/rule-engine.ts';
import type { BreakerSettings, Settings } from '../core/settings.ts';
import { resolveBreaker } from '../policy/resolve.ts';
import type { Store } from '../ports/store.ts';
import type { Breakers } from './breakers.ts';
import type { Lane } from './lanes.ts';
import { breakerKey, type Target } from './targets.ts';
import { seatsOf, type TaskNode } from './task-node.ts';

export interface SeatingOptions {
  readonly store: Store;
  readonly breakers: Breakers;
  readonly agent: string;
  readonly session: string;
  readonly project: string;
  readonly ownControls: readonly Control<never>[];
  readonly settings: () => Settings;
  readonly rules: () => RuleEngine | undefined;
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
  const shared = new Map<string, BreakerSettings>();
  const workers = new Set<string>();
  let outside = new Map<Target, Lane>();

  function settingsFor(target: Target, agent: string): BreakerSettings {
    const overrides = { ...target.overrides, ...tunings.get(target.name) };
    const settings = resolveBreaker(options.settings(), { tool: target.name, agent, overrides });
    const key = JSON.stringify(settings);
    const known = shared.get(key);
    if (known !== undefined) return known;
    if (shared.size >= sharedSettingsMax) shared.clear();
    shared.set(key, settings);
    return settings;
  }

  function rules(): Seat | undefined {
    const control = options.rules()?.control;
    if (control === undefined) return undefined;
    rulesSeat ??= { control, cell: store.cell('rules', () => control.initial(0)), place: 'self' } as unknown as Seat;
    return rulesSeat;
  }

  function worker(session: string, name: string): Holder<DelegationState> {
    const key = `worker/${encodeURIComponent(session)}/${encodeURIComponent(name)}`;
    if (!workers.has(key)) {
      if (workers.size >= workerCellsMax) {
        const oldest = workers.values().next().value!;
        workers.delete(oldest);
        store.drop(oldest);
      }
      workers.add(key);
    }
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
    if (breaker !== undefined) panel.push(breaker.seat as unknown as Seat);
    const ruled = rules();
    if (ruled !== undefined) panel.push(ruled);
    panel.push(...own(target, session));
    if (task !== undefined) {
      const counted = options.settings().delegation;
      if (isCounted(counted, target)) {
        const cell = worker(session, target.name);
        panel.push({ control: delegation(counted), cell, place: 'self' } as unknown as Seat);
      }
      panel.push(...seatsOf(task));
    }
    const key = breaker === undefined ? {} : { breaker: breaker.key };
    const timeoutMs = delegated || target.kind === 'model' ? 0 : (settings.timeoutSecs ?? 0) * 1000;
    return {
      target,
      task,
      panel: panel as Panel,
      sharedSeats: panel.length - (task?.seats?.length ?? 0),
      breaker,
      timeoutMs,
      patienceMs: timeoutMs > 0 ? Math.min(timeoutMs, patienceMaxMs) : patienceMaxMs,
      place: { ...(task === undefined ? {} : { task: task.id }), session, agent, ...key },
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
        if (lanes.size >= lanesMax) lanes.clear();
        lane = make(target, task);
        lanes.set(target, lane);
      }
      return lane;
    },
    worker,
    renew() {
      epoch++;
      rulesSeat = undefined;
      outside = new Map();
    },
    get epoch() {
      return epoch;
    },
  };
}
