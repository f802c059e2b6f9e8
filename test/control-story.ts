/** A control at one cell, told what happens event by event: what the tests of single controls are written with. */

import type { Action, Outcome, Permit } from '../src/core/action.ts';
import type { CellOwner, Control } from '../src/core/control.ts';
import { defaultSettings } from '../src/core/controls/defaults.ts';
import type { ActionSettled, ControlEvent } from '../src/core/event.ts';
import type { TaskSettings } from '../src/core/settings.ts';
import { allow, type Stop, type Verdict } from '../src/core/verdict.ts';

export const limitsOf = (said: Partial<TaskSettings> = {}): TaskSettings => ({ ...defaultSettings.task, ...said });

/** A call that costs nothing and that nobody looked at. */
export const actionOf = (said: Partial<Action> = {}): Action => ({
  id: 1,
  kind: 'tool',
  name: 'search',
  agent: 'researcher',
  session: 's',
  fingerprint: 0,
  worstMicros: 0,
  worstTokens: 0,
  patienceMs: 0,
  ...said,
});

/** A refusal by somebody. */
export const stopOf = (kind: Stop['kind'], said: Partial<Stop> = {}): Stop => ({
  kind,
  code: 'circuit_open',
  control: 'breaker',
  counters: {},
  ...said,
});

export const permitOf = (action: Action): Permit => ({ action, atMs: 0, generation: 1, probe: false });

export function bindControl<S>(control: Control<S>, startMs = 0) {
  const cell = { state: control.initial(startMs) };
  const tell = (event: ControlEvent, cellOwner: CellOwner = 'self'): void => {
    cell.state = control.apply(cell.state, event, cellOwner);
  };
  return {
    cell,
    tell,
    judge: (said: Partial<Action> = {}, atMs = 0, cellOwner: CellOwner = 'self'): Verdict =>
      control.judge(cell.state, { type: 'action-proposed', atMs, action: actionOf(said) }, cellOwner),
    decided: (verdict: Verdict = allow, said: Partial<Action> = {}, atMs = 0, cellOwner: CellOwner = 'self') =>
      tell({ type: 'action-decided', atMs, action: actionOf(said), verdict }, cellOwner),
    settled: (outcome: Outcome, said: Partial<Action> = {}, more: Partial<ActionSettled> = {}) =>
      tell({ type: 'action-settled', atMs: 0, permit: permitOf(actionOf(said)), outcome, ...more }),
    check: (atMs = 0): Verdict => control.check?.(cell.state, atMs) ?? allow,
    gauges: (atMs = 0) => control.gauges?.(cell.state, atMs),
  };
}
