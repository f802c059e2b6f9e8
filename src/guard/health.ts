/** Asks open breakers' health checks now and then, on the sweep's own timer. Without a check nothing runs. */

import { halfOpenBreaker } from '../core/breaker/phases.ts';
import { type BreakerEntry, reportBreaker } from './breakers.ts';
import { countError, write } from './notes.ts';
import type { Works } from './works.ts';

/** Whether a callee has to be asked how it is. */
export function isAskedFor({ health, settings, cell }: BreakerEntry): boolean {
  return health !== undefined && settings.enableHealthCheck && cell.state.phase === 'open';
}

/** Starts the checks that are due. */
export function checkHealth(works: Works, atMs: number): void {
  for (const entry of works.checked) {
    if (!isAskedFor(entry)) continue;
    const health = entry.health!;
    const intervalMs = entry.settings.healthCheckIntervalSecs * 1000;
    health.nextMs ||= entry.cell.state.openedAtMs + intervalMs;
    if (atMs < health.nextMs) continue;
    // One that has not come back by now says no; its answer would be too old.
    if (health.asked !== 0) answered(works, entry, false);
    health.nextMs = atMs + intervalMs;
    void ask(works, entry);
  }
}

async function ask(works: Works, entry: BreakerEntry): Promise<void> {
  const health = entry.health!;
  const { generation } = entry.cell.state;
  const asked = ++works.ids;
  health.asked = asked;
  let healthy = false;
  try {
    healthy = (await health.check()) === true;
  } catch {
    healthy = false; // A check that throws says that the callee is not well.
  }
  if (health.asked !== asked) return; // Given up meanwhile: another one was asked.
  health.asked = 0;
  if (entry.health !== health) return; // The gear was disposed of meanwhile.
  try {
    if (entry.cell.state.generation === generation) answered(works, entry, healthy);
  } catch (error) {
    countError(works, 'health check', error);
  }
}

/** A callee that lives may be tried: half-open, never closed. */
function answered(works: Works, entry: BreakerEntry, healthy: boolean): void {
  const { cell, name } = entry;
  const { generation, phase } = cell.state;
  write(works, { type: 'health-checked', key: cell.key, name, healthy });
  if (!healthy || phase !== 'open') return;
  halfOpenBreaker(cell.state, works.clock.nowMs());
  reportBreaker(works, entry, generation);
}
