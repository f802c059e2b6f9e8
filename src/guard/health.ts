/** Asks open breakers' health checks now and then, on the sweep's own timer. Without a check nothing runs. */

import type { Clock } from '../ports/clock.ts';
import type { Breakers } from './breakers.ts';
import type { Notebook } from './notebook.ts';
import type { BreakerEntry } from './targets.ts';

/** Starts the checks that are due; true while there is one to come back for. */
export function checkHealth(breakers: Breakers, notes: Notebook, clock: Clock, atMs: number): boolean {
  let wanted = false;
  for (const entry of breakers.checked()) {
    if (entry.healthCheck === undefined || !entry.settings.enableHealthCheck) continue;
    if (entry.cell.state.phase !== 'open') {
      entry.nextHealthCheckMs = 0;
      continue;
    }
    wanted = true;
    const intervalMs = entry.settings.healthCheckIntervalSecs * 1000;
    if (entry.nextHealthCheckMs === 0) entry.nextHealthCheckMs = entry.cell.state.openedAtMs + intervalMs;
    if (atMs < entry.nextHealthCheckMs) continue;
    // One that has not come back by now says no; its answer would be too old.
    if (entry.checking !== 0) breakers.healthy(entry, false, atMs);
    entry.nextHealthCheckMs = atMs + intervalMs;
    void ask(entry, breakers, notes, clock);
  }
  return wanted;
}

let asks = 0;

async function ask(entry: BreakerEntry, breakers: Breakers, notes: Notebook, clock: Clock): Promise<void> {
  const { generation } = entry.cell.state;
  const asked = ++asks;
  entry.checking = asked;
  let healthy = false;
  try {
    healthy = (await entry.healthCheck?.()) === true;
  } catch {
    healthy = false; // A check that throws says that the callee is not well.
  }
  if (entry.checking !== asked) return; // Given up meanwhile: another one was asked.
  entry.checking = 0;
  if (entry.healthCheck === undefined) return; // The gear was disposed of meanwhile.
  const atMs = clock.nowMs();
  try {
    if (entry.cell.state.generation === generation) breakers.healthy(entry, healthy, atMs);
  } catch (error) {
    notes.countError('health check', error, atMs);
  }
}
