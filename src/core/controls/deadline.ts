/** The deadline control: halts a task that takes too long or is silent. Both clocks stop while a person is asked. */

import type { Control, Gauge } from '../control.ts';
import type { PanelDeclaration } from '../declare/control-declaration.ts';
import { type RefusalContext, type RefusalTexts, stoppedTexts } from '../declare/refusal-texts.ts';
import { secs } from '../declare/setting.ts';
import { taskSection } from '../declare/task-section.ts';
import type { ControlEvent } from '../event.ts';
import { countMax } from '../limits.ts';
import type { BaseSettings, TaskSettings } from '../settings.ts';
import { allow, type Code, haltOverLimit, type Verdict } from '../verdict.ts';

/** The clocks of one task. */
export interface DeadlineState {
  startedAtMs: number;
  /** The last sign of life of the task or a descendant. */
  signAtMs: number;
  /** Running calls, and until when they excuse silence. */
  out: number;
  outUntilMs: number;
  /** Reasons for which the clocks stand still, since when, and the total so far. */
  stops: number;
  stoppedAtMs: number;
  stoppedMs: number;
}

/** Creates the deadline control. */
export function deadline(settings: TaskSettings): Control<DeadlineState> {
  const { maxDurationSecs, maxIdleSecs } = settings;

  const overrun = (code: Code, ms: number, limit: number): Verdict =>
    ms > limit * 1000 ? haltOverLimit('deadline', code, Math.ceil(ms / 1000), limit) : allow;
  const tooLong = (state: DeadlineState, atMs: number) =>
    overrun('duration_limit', durationOf(state, atMs), maxDurationSecs);

  return {
    name: 'deadline',
    scope: 'chain',
    initial: (atMs) => ({
      startedAtMs: atMs,
      signAtMs: atMs,
      out: 0,
      outUntilMs: 0,
      stops: 0,
      stoppedAtMs: 0,
      stoppedMs: 0,
    }),
    // A proposal is itself a sign of life, so only the duration is judged here.
    judge: (state, { atMs }) => tooLong(state, atMs),
    apply(state, event) {
      if (event.atMs > state.signAtMs && !isForgotten(event)) state.signAtMs = event.atMs;
      switch (event.type) {
        case 'action-decided':
          if (event.verdict.kind !== 'allow') return state;
          state.out++;
          state.outUntilMs = Math.max(state.outUntilMs, event.atMs + event.action.patienceMs);
          return state;
        case 'action-settled':
          if (state.out > 0) state.out--;
          if (state.out === 0) state.outUntilMs = 0;
          return state;
        case 'task-stopped':
          if (state.stops++ === 0) state.stoppedAtMs = event.atMs;
          return state;
        case 'task-resumed':
          if (state.stops === 0) return state;
          if (--state.stops === 0) state.stoppedMs += event.atMs - state.stoppedAtMs;
          return state;
        default:
          return state; // Every other event is only a sign of life.
      }
    },
    check(state, atMs) {
      const verdict = tooLong(state, atMs);
      return verdict === allow ? overrun('idle_timeout', idleOf(state, atMs), maxIdleSecs) : verdict;
    },
    gauges: (state, atMs): readonly Gauge[] => [
      { name: 'duration_secs', actual: durationOf(state, atMs) / 1000, limit: maxDurationSecs },
      { name: 'idle_secs', actual: idleOf(state, atMs) / 1000, limit: maxIdleSecs },
    ],
  };
}

/** Whether a call ends because nobody reported its end: that is no sign of life. */
function isForgotten(event: ControlEvent): boolean {
  return event.type === 'action-settled' && event.outcome.kind === 'neutral' && event.outcome.why === 'lease-expired';
}

/** How long the task has run, without the time its clocks stood still. */
export function durationOf(state: DeadlineState, atMs: number): number {
  const still = state.stoppedMs + (state.stops > 0 ? atMs - state.stoppedAtMs : 0);
  return Math.max(0, atMs - state.startedAtMs - still);
}

/** How long the task has been silent. A running call excuses silence for its `patienceMs`. */
export function idleOf(state: DeadlineState, atMs: number): number {
  if (state.stops > 0) return 0;
  const since = state.out > 0 ? Math.max(state.signAtMs, Math.min(atMs, state.outUntilMs)) : state.signAtMs;
  return Math.max(0, atMs - since);
}

export const deadlineDeclaration = {
  name: 'deadline',
  scope: 'chain',
  summary: {
    stops: 'a task that takes too long or goes silent',
    byDefault: 'a task that runs for 30 minutes, or shows no activity for 5',
    statePer: 'task',
  },
  section: {
    ...taskSection,
    fields: {
      max_duration_secs: secs('Time a task may take.', 1800, 'lower', {
        max: countMax,
        env: 'BB_CIRCUIT_BREAKER_DURATION_SECS',
      }),
      max_idle_secs: secs('Time a task may be silent.', 300, 'lower', {
        max: countMax,
        env: 'BB_CIRCUIT_BREAKER_IDLE_SECS',
      }),
    },
  },
  codes: {
    duration_limit: {
      kind: 'halt',
      means: 'the task took too long',
      remedy: 'the same',
      raises: 'maxDurationSecs',
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual >= task.maxDurationSecs; // Older journals have whole seconds of which the excess was cut off.
      },
      texts(context: RefusalContext): RefusalTexts {
        const { actual, limit } = context;
        return stoppedTexts(context, `running for ${actual} s of ${limit} s`, 'Stop now and report how far you got.');
      },
    },
    idle_timeout: {
      kind: 'halt',
      means: 'the task was silent for too long',
      remedy: 'find out what it waited for; report signs of life',
      raises: 'maxIdleSecs',
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual >= task.maxIdleSecs;
      },
      texts(context: RefusalContext): RefusalTexts {
        const { actual, limit } = context;
        const remediation = 'The task was ended because it reported no activity.';
        return stoppedTexts(context, `silent for ${actual} s of ${limit} s`, remediation);
      },
    },
  },
  create(settings: BaseSettings): Control<DeadlineState> {
    return deadline(settings.task);
  },
} as const satisfies PanelDeclaration;
