/** Asks callees of open breakers now and then how they are, on the sweep's own timer. Without a check nothing runs. */

import { halfOpenBreaker } from '../../core/controls/breaker/phases.ts';
import type { Switchgear } from '../api.ts';
import { type BreakerEntry, breakersOf, changeBreaker } from '../breakers/breaker-registry.ts';
import { countError, write } from '../journal/journal.ts';
import { fn, name as isName } from '../runtime/option-checks.ts';
import type { Works } from '../runtime/runtime.ts';
import { worksOf } from '../runtime/works-of.ts';
import { wake } from '../tasks/sweep.ts';

/** What a gear with health checks keeps. */
export interface HealthChecks {
  /** The checks, by the name of what is called. */
  readonly checks: Map<string, () => boolean | Promise<boolean>>;
  /** Open breakers whose callees are asked. */
  readonly open: Map<BreakerEntry, Asking>;
  readonly opened: (works: Works, entry: BreakerEntry) => void;
  readonly sweep: (works: Works, atMs: number) => void;
}

interface Asking {
  nextMs: number;
  /** The number of the question that is out; 0 = none. */
  out: number;
}

/** Has a callee asked while its circuit is open; true leads to half-open, never to closed. */
export function checkHealth(gear: Switchgear, name: string, check: () => boolean | Promise<boolean>): void {
  const works = worksOf(gear);
  isName('the name of a tool', name);
  fn('the health check', check);
  works.health ??= { checks: new Map(), open: new Map(), opened, sweep };
  works.health.checks.set(name, check);
  for (const entry of breakersOf(works, name)) if (entry.cell.state.phase === 'open') opened(works, entry);
}

/** It may open outside any task, when no sweep is running that would ask after its callee. */
function opened(works: Works, entry: BreakerEntry): void {
  const { settings, cell } = entry;
  if (!settings.enableHealthCheck || !works.health?.checks.has(entry.name)) return;
  works.health.open.set(entry, { nextMs: cell.state.openedAtMs + settings.healthCheckIntervalSecs * 1000, out: 0 });
  wake(works);
}

/** Starts the checks that are due. */
function sweep(works: Works, atMs: number): void {
  const { open } = works.health!;
  for (const [entry, asking] of open) {
    if (entry.cell.state.phase !== 'open') open.delete(entry);
    else if (entry.settings.enableHealthCheck && atMs >= asking.nextMs) {
      // One that has not come back by now says no; its answer would be too old.
      if (asking.out !== 0) answered(works, entry, false);
      asking.nextMs = atMs + entry.settings.healthCheckIntervalSecs * 1000;
      void ask(works, entry, asking);
    }
  }
}

async function ask(works: Works, entry: BreakerEntry, asking: Asking): Promise<void> {
  const { generation } = entry.cell.state;
  const asked = ++works.ids;
  asking.out = asked;
  let healthy = false;
  try {
    healthy = (await works.health?.checks.get(entry.name)?.()) === true;
  } catch {
    healthy = false; // A check that throws says that the callee is not well.
  }
  if (asking.out !== asked) return; // Given up meanwhile: another one was asked.
  asking.out = 0;
  if (works.health === undefined) return; // The gear was disposed of meanwhile.
  try {
    if (entry.cell.state.generation === generation) answered(works, entry, healthy);
  } catch (error) {
    countError(works, 'health check', error);
  }
}

function answered(works: Works, entry: BreakerEntry, healthy: boolean): void {
  const { cell, name } = entry;
  const { generation, phase } = cell.state;
  write(works, { type: 'health-checked', key: cell.key, name, healthy });
  if (!healthy || phase !== 'open') return;
  changeBreaker(works, entry, (state) => {
    if (state.generation === generation) halfOpenBreaker(state, works.clock.nowMs());
  });
}
