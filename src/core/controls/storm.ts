/** Pauses a watcher that fires too often. Only a person resumes it. */

import type { ControlDeclaration } from '../declare/control-declaration.ts';
import type { RefusalContext, RefusalTexts } from '../declare/refusal-texts.ts';
import { allow, type Verdict } from '../verdict.ts';

/** The limit of a watcher. */
export interface StormSettings {
  /** Events admitted per window; one more trips. */
  readonly maxEvents: number;
  readonly windowSecs: number;
}

/** The counts of a watcher. */
export interface StormState {
  tripped: boolean;
  /** Events of the current and the previous half of the window. */
  windowAtMs: number;
  events: number;
  before: number;
  /** Events dropped while paused. */
  dropped: number;
}

/** Creates the initial state. */
export function initialStorm(atMs: number): StormState {
  return { tripped: false, windowAtMs: atMs, events: 0, before: 0, dropped: 0 };
}

/** Counts one event and returns whether it may pass. Two halves slide, so that a burst across their border counts. */
export function countEvent(state: StormState, settings: StormSettings, atMs: number): Verdict {
  if (state.tripped) {
    state.dropped++;
    return stormVerdict(state, settings);
  }
  const halfMs = (settings.windowSecs * 1000) / 2;
  const halves = Math.floor((atMs - state.windowAtMs) / halfMs);
  if (halves > 0) {
    state.before = halves === 1 ? state.events : 0;
    state.events = 0;
    state.windowAtMs += halves * halfMs;
  }
  state.events++;
  if (state.events + state.before <= settings.maxEvents) return allow;
  state.tripped = true;
  return stormVerdict(state, settings);
}

function stormVerdict(state: StormState, settings: StormSettings): Verdict {
  const counters = { actual: state.events + state.before, limit: settings.maxEvents, window_secs: settings.windowSecs };
  return { kind: 'deny', code: 'storm', control: 'storm', counters };
}

export const stormDeclaration = {
  name: 'storm',
  summary: {
    stops: 'a watcher that fires without end',
    byDefault: 'a file watcher that fires too many events',
    statePer: 'watcher, outside the route',
  },
  codes: {
    storm: {
      kind: 'deny',
      means: 'a watcher fired too many events and is paused',
      remedy: 'find the cause, then call `watch.restart()`',
      texts({ name, actual, limit, reached }: RefusalContext): RefusalTexts {
        return {
          message: `Watcher '${name}' paused: ${actual} events (limit ${limit})`,
          remediation: 'It stays paused until someone restarts it by hand.',
          explanation: `${name} paused: ${reached} events in its window; restart it by hand`,
        };
      },
    },
  },
} as const satisfies ControlDeclaration;
