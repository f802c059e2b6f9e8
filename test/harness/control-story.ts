/** A control at one cell, told what happens event by event: what the tests of single controls are written with. */

import type { Action, Outcome, Permit } from '../../src/core/action.ts';
import type { CellOwner, Control } from '../../src/core/control.ts';
import { defaultSettings } from '../../src/core/controls/defaults.ts';
import type { ActionSettled, ControlEvent } from '../../src/core/event.ts';
import type { TaskSettings } from '../../src/core/settings.ts';
import { allow, type Stop, type Verdict } from '../../src/core/verdict.ts';

export const makeLimits = (overrides: Partial<TaskSettings> = {}): TaskSettings => ({
  ...defaultSettings.task,
  ...overrides,
});

/** A call that costs nothing and that nobody looked at. */
export const makeAction = (overrides: Partial<Action> = {}): Action => ({
  id: 1,
  kind: 'tool',
  name: 'search',
  agent: 'researcher',
  session: 's',
  fingerprint: 0,
  worstMicros: 0,
  worstTokens: 0,
  patienceMs: 0,
  ...overrides,
});

/** A refusal by somebody. */
export const makeStop = (kind: Stop['kind'], overrides: Partial<Stop> = {}): Stop => ({
  kind,
  code: 'circuit_open',
  control: 'breaker',
  counters: {},
  ...overrides,
});

export const makePermit = (action: Action): Permit => ({ action, atMs: 0, generation: 1, probe: false });

export function bindControl<S>(control: Control<S>, startMs = 0) {
  const cell = { state: control.initial(startMs) };
  const tell = (event: ControlEvent, cellOwner: CellOwner = 'self'): void => {
    cell.state = control.apply(cell.state, event, cellOwner);
  };
  return {
    cell,
    tell,
    judge: (overrides: Partial<Action> = {}, atMs = 0, cellOwner: CellOwner = 'self'): Verdict =>
      control.judge(cell.state, { type: 'action-proposed', atMs, action: makeAction(overrides) }, cellOwner),
    decided: (verdict: Verdict = allow, overrides: Partial<Action> = {}, atMs = 0, cellOwner: CellOwner = 'self') =>
      tell({ type: 'action-decided', atMs, action: makeAction(overrides), verdict }, cellOwner),
    settled: (outcome: Outcome, overrides: Partial<Action> = {}, details: Partial<ActionSettled> = {}) =>
      tell({ type: 'action-settled', atMs: 0, permit: makePermit(makeAction(overrides)), outcome, ...details }),
    check: (atMs = 0): Verdict => control.check?.(cell.state, atMs) ?? allow,
    gauges: (atMs = 0) => control.gauges?.(cell.state, atMs),
  };
}
