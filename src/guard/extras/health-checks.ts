/** Asks callees of open breakers now and then how they are, on the sweep's own timer. Without a check nothing runs. */

import { halfOpenBreaker } from '../../core/controls/breaker/phases.ts';
import type { Switchgear } from '../api.ts';
import { type BreakerEntry, breakersOf, changeBreaker } from '../breakers/breaker-registry.ts';
import { appendEntry, countError } from '../journal/journal.ts';
import { fn, name as isName } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { runtimeOf } from '../runtime/runtime.ts';
import { ensureSweep } from '../tasks/sweep.ts';

/** What a gear with health checks keeps. */
export interface HealthChecks {
  /** The checks, by the name of what is called. */
  readonly checks: Map<string, () => boolean | Promise<boolean>>;
  /** Open breakers whose callees are asked. */
  readonly open: Map<BreakerEntry, Asking>;
  readonly opened: (runtime: Runtime, entry: BreakerEntry) => void;
  readonly sweep: (runtime: Runtime, atMs: number) => void;
}

interface Asking {
  nextMs: number;
  /** The number of the question that is out; 0 = none. */
  out: number;
}

/** Has a callee asked while its circuit is open; true leads to half-open, never to closed. */
export function checkHealth(gear: Switchgear, name: string, check: () => boolean | Promise<boolean>): void {
  const runtime = runtimeOf(gear);
  isName('the name of a tool', name);
  fn('the health check', check);
  runtime.health ??= { checks: new Map(), open: new Map(), opened, sweep };
  runtime.health.checks.set(name, check);
  for (const entry of breakersOf(runtime, name)) if (entry.cell.state.phase === 'open') opened(runtime, entry);
}

/** It may open outside any task, when no sweep is running that would ask after its callee. */
function opened(runtime: Runtime, entry: BreakerEntry): void {
  const { settings, cell } = entry;
  if (!settings.enableHealthCheck || !runtime.health?.checks.has(entry.name)) return;
  runtime.health.open.set(entry, { nextMs: cell.state.openedAtMs + settings.healthCheckIntervalSecs * 1000, out: 0 });
  ensureSweep(runtime);
}

/** Starts the checks that are due. */
function sweep(runtime: Runtime, atMs: number): void {
  const { open } = runtime.health!;
  for (const [entry, asking] of open) {
    if (entry.cell.state.phase !== 'open') open.delete(entry);
    else if (entry.settings.enableHealthCheck && atMs >= asking.nextMs) {
      // One that has not come back by now says no; its answer would be too old.
      if (asking.out !== 0) answered(runtime, entry, false);
      asking.nextMs = atMs + entry.settings.healthCheckIntervalSecs * 1000;
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
    healthy = false; // A check that throws says that the callee is not well.
  }
  if (asking.out !== asked) return; // Given up meanwhile: another one was asked.
  asking.out = 0;
  if (runtime.health === undefined) return; // The gear was disposed of meanwhile.
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
