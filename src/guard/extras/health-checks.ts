/** Runs the health checks of open breakers on the timer of the sweep. */

import { halfOpenBreaker } from '../../core/controls/breaker/phases.ts';
import { type BreakerEntry, breakersOf, changeBreaker } from '../breakers/breaker-registry.ts';
import { appendEntry, countError } from '../journal/journal.ts';
import { fn } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { ensureSweep } from '../tasks/sweep.ts';

/** The health checks of a gear and the open breakers that they run for. */
export interface HealthChecks {
  /** The checks, by breaker name. */
  readonly checks: Map<string, () => boolean | Promise<boolean>>;
  /** The open breakers with a check. */
  readonly open: Map<BreakerEntry, Asking>;
  readonly opened: (runtime: Runtime, entry: BreakerEntry) => void;
  readonly sweep: (runtime: Runtime, atMs: number) => void;
}

interface Asking {
  /** When the breaker opened, or was checked last. */
  sinceMs: number;
  /** The number of the check that runs now; 0 = none. */
  out: number;
}

/** Runs a check while the breaker of this name is open; a check that returns true half-opens the breaker. */
export function addHealthCheck(runtime: Runtime, name: string, check: () => boolean | Promise<boolean>): void {
  fn('the health check', check);
  runtime.health ??= { checks: new Map(), open: new Map(), opened, sweep };
  runtime.health.checks.set(name, check);
  for (const entry of breakersOf(runtime, name)) if (entry.cell.state.phase === 'open') opened(runtime, entry);
}

/** Applies changed settings to the checks of open breakers; a changed interval holds from the next sweep on. */
export function resumeHealthChecks(runtime: Runtime): void {
  const { health, breakers } = runtime;
  if (health === undefined) return;
  for (const entry of breakers.values()) {
    if (entry.cell.state.phase === 'open' && !health.open.has(entry)) opened(runtime, entry);
  }
}

/** Schedules the first check, and starts the sweep: a breaker may open while no task runs. */
function opened(runtime: Runtime, entry: BreakerEntry): void {
  const { settings, cell } = entry;
  if (!settings.enableHealthCheck || !runtime.health?.checks.has(entry.name)) return;
  runtime.health.open.set(entry, { sinceMs: cell.state.openedAtMs, out: 0 });
  ensureSweep(runtime);
}

/** Starts the checks that are due. */
function sweep(runtime: Runtime, atMs: number): void {
  const { open } = runtime.health!;
  for (const [entry, asking] of open) {
    if (entry.cell.state.phase !== 'open') open.delete(entry);
    else if (
      entry.settings.enableHealthCheck &&
      atMs >= asking.sinceMs + 1000 * entry.settings.healthCheckIntervalSecs
    ) {
      // A check that has not returned within the interval counts as unhealthy.
      if (asking.out !== 0) answered(runtime, entry, false);
      asking.sinceMs = atMs;
      void ask(runtime, entry, asking);
    }
  }
}

async function ask(runtime: Runtime, entry: BreakerEntry, asking: Asking): Promise<void> {
  const { generation } = entry.cell.state;
  const asked = ++runtime.ids;
  asking.out = asked;
  let healthy = false;
  try {
    healthy = (await runtime.health?.checks.get(entry.name)?.()) === true;
  } catch {
    healthy = false; // A check that throws counts as unhealthy.
  }
  if (asking.out !== asked) return; // A later check has replaced this one.
  asking.out = 0;
  if (runtime.health === undefined) return; // The gear was disposed.
  try {
    if (entry.cell.state.generation === generation) answered(runtime, entry, healthy);
  } catch (error) {
    countError(runtime, 'health check', error);
  }
}

function answered(runtime: Runtime, entry: BreakerEntry, healthy: boolean): void {
  const { cell, name } = entry;
  const { generation, phase } = cell.state;
  appendEntry(runtime, { type: 'health-checked', key: cell.key, name, healthy });
  if (!healthy || phase !== 'open') return;
  changeBreaker(runtime, entry, (state) => {
    if (state.generation === generation) halfOpenBreaker(state, runtime.clock.nowMs());
  });
}
