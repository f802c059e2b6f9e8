/** The loop control: warns, refuses and halts an agent that repeats its texts, its calls or its failures. */

import type { Action } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { ActionDecided, ActionSettled, ControlEvent } from '../../event.ts';
import { isMatch } from '../../glob.ts';
import { loopHabitsMax } from '../../limits.ts';
import type { LoopSettings } from '../../settings.ts';
import { allow, type Counters, type Stop, type Verdict } from '../../verdict.ts';
import { countOutput, endStreak } from './output-streak.ts';
import { countRefusals, forgetRefusal, recordRefusal } from './refused-call.ts';
import { type Habit, isSpaced } from './score.ts';
import { ensureMemory, initialLoop, type LoopMemory, type LoopState, type Repeated } from './state.ts';
import { findRepeat, hasFailure, mayActOnLastTurn, openText, openTurn, recordSettledCall, sumPoints } from './turns.ts';

/** The hint for the agent before any refusal. */
export interface LoopHint {
  readonly counters: Counters;
}

/** The settings of a loop control, and the habits they give to tools. */
interface LoopContext {
  readonly settings: LoopSettings;
  readonly findHabit: (name: string) => Habit | undefined;
}

/** Creates the loop control. */
export function loop(settings: LoopSettings): Control<LoopState> {
  const context: LoopContext = { settings, findHabit: createHabitLookup(settings.tools) };
  return {
    name: 'loop',
    scope: 'task',
    initial: initialLoop,
    judge: (state, { action, atMs }) => judgeCall(context, state, action, atMs),
    apply: (state, event) => {
      applyEvent(context, state, event);
      return state;
    },
    check: (state) => checkRepetition(context, state),
    hint: ({ memory }) => findHint(context, memory),
  };
}

/** Halts a call that was refused too often, and refuses a call whose result is known. */
function judgeCall(context: LoopContext, state: LoopState, action: Action, atMs: number): Verdict {
  const { settings, findHabit } = context;
  const times = countRefusals(state.refused, action, atMs);
  if (times >= settings.refusedRepeats) {
    return makeStop('halt', 'tool_loop', { name: action.name, actual: times + 1, limit: settings.refusedRepeats });
  }
  const { memory } = state;
  const call = callKey(action);
  const habit = findHabit(action.name);
  if (memory === null || call === 0 || habit === 'off') return allow;
  // Most calls are far from a refusal, so they skip the search of the history.
  if (sumPoints(memory) < settings.refusePoints && !hasFailure(memory)) return allow;
  const repeat = findRepeat(memory, call, settings);
  if (repeat === undefined) return allow;
  const { ok, retryable, atMs: lastMs } = repeat.last;
  const refusal = (retryAtMs: number): Verdict => ({
    ...makeStop('deny', 'tool_loop', makeCounters(context, memory, repeat)),
    retryAtMs,
  });
  if (!ok) {
    const retryAtMs = lastMs + failedRetryMs;
    return retryable || atMs >= retryAtMs ? allow : refusal(retryAtMs);
  }
  if (habit === 'wait' || sumPoints(memory) < settings.refusePoints) return allow;
  if (isSpaced(memory.seen, repeat.last, atMs, settings, habit)) return allow;
  return refusal((habit === 'poll' ? lastMs : atMs) + 1000 * settings.pollSecs);
}

/** Records in the state whether an event is a repetition. */
function applyEvent(context: LoopContext, state: LoopState, event: ControlEvent): void {
  switch (event.type) {
    case 'action-decided':
      recordDecision(context, state, event);
      return;
    case 'action-settled': {
      const { action } = event.permit;
      const call = callKey(action);
      if (call !== 0 && action.kind === 'tool') recordResult(context, state, action.name, call, event, action.chances);
      return;
    }
    case 'call-observed': {
      if (event.silent === true) endStreak(state);
      const memory = ensureMemory(state);
      const repeat = event.call === undefined ? undefined : findRepeat(memory, event.call, context.settings);
      memory.failingAgain = repeat?.last.ok === false ? event.call! : 0;
      openTurn(memory);
      return;
    }
    case 'result-observed':
      recordResult(context, state, event.name, event.call, event);
      return;
    case 'text-observed':
      countOutput(state, event, context.settings);
      openText(state, event.recurs === true, event.calls, context.settings);
      return;
    case 'user-observed':
    case 'progress-observed':
      endStreak(state); // A new prompt or reported progress: later calls are compared among themselves only.
      if (event.type === 'user-observed') state.refused = [];
      state.memory = null;
      return;
    default:
      return; // No other event indicates repetition.
  }
}

/** An allowed call may open a turn; a refused one counts as a repetition. */
function recordDecision(context: LoopContext, state: LoopState, { action, verdict, atMs }: ActionDecided): void {
  if (verdict.kind === 'wait' || verdict.kind === 'ask') return;
  if (verdict.kind === 'allow') {
    forgetRefusal(state.refused, action.fingerprint);
    if (state.memory !== null) openTurn(state.memory);
    return;
  }
  recordRefusal(state.refused, action, verdict.retryAtMs ?? -1, atMs);
  const call = callKey(action);
  if (call !== 0) recordRefusedCall(context, state, action, call, atMs);
}

/**
 * A refusal counts as one more occurrence of the repeated call and result, so that a refusal never hides a loop
 * (R29).
 */
function recordRefusedCall(context: LoopContext, state: LoopState, action: Action, call: number, atMs: number): void {
  const memory = ensureMemory(state);
  openTurn(memory);
  const last = memory.seen.findLast((past) => past.call === call);
  const result = last ?? { ok: false, exact: refusalMark, loose: refusalMark, length: 0 };
  recordResult(context, state, action.name, call, { result, atMs }, action.chances, false);
}

function recordResult(
  { settings, findHabit }: LoopContext,
  state: LoopState,
  name: string,
  call: number,
  { result: mark, likeness = 0, atMs }: Pick<ActionSettled, 'result' | 'likeness' | 'atMs'>,
  chances = 0,
  reached = true,
): void {
  if (mark !== undefined) {
    recordSettledCall(state, { name, call, mark, likeness, reached, chances, atMs }, settings, findHabit(name));
  } else if (state.memory !== null) state.memory.answered = true; // The result is unreadable.
}

/** Halts a task whose texts or calls repeat, after any event. */
function checkRepetition(context: LoopContext, state: LoopState): Verdict {
  const { settings } = context;
  if (state.alike >= settings.windowSize - 1) {
    return makeStop('halt', 'output_loop', {
      actual: state.alike + 1,
      limit: settings.windowSize,
      similarity: state.likeness,
      threshold: settings.similarityJaccardThreshold,
    });
  }
  const { memory } = state;
  if (memory === null) return allow;
  const over = memory.failingAgain === 0 ? undefined : findRepeat(memory, memory.failingAgain, settings);
  if (over !== undefined) return makeStop('halt', 'tool_loop', makeCounters(context, memory, over));
  const { turns } = memory;
  if (!mayActOnLastTurn(memory, settings)) return allow;
  // Observed calls cannot be refused, so turns that all repeat something suffice: a cycle of calls has few points.
  const lastTurns = turns.slice(1 - settings.turns);
  const isStreak =
    lastTurns.length >= settings.turns - 1 &&
    lastTurns.every((turn) => turn.points > 0 && turn.evidence !== 'other_error');
  if (sumPoints(memory) < (isStreak ? Math.min(settings.refusePoints, settings.haltPoints) : settings.haltPoints))
    return allow;
  return makeStop('halt', 'tool_loop', makeCounters(context, memory));
}

/** Returns the hint if the points reach `notePoints` and the last turn is a repetition. */
function findHint(context: LoopContext, memory: LoopMemory | null): LoopHint | undefined {
  const { settings } = context;
  if (memory === null || sumPoints(memory) < settings.notePoints || !mayActOnLastTurn(memory, settings))
    return undefined;
  return { counters: makeCounters(context, memory) };
}

function makeStop(kind: Stop['kind'], code: 'tool_loop' | 'output_loop', counters: Counters): Stop {
  return { kind, code, control: 'loop', counters };
}

/** The counters of the repetition of a call, or else of the last turn. */
function makeCounters(
  { settings, findHabit }: LoopContext,
  memory: LoopMemory,
  repeated: Repeated = memory.turns.at(-1)!,
): Counters {
  const { name, evidence, times, of, secs } = repeated;
  const stale = memory.turns.filter(({ points }) => points > 0).length;
  const actual = sumPoints(memory);
  const habit = findHabit(name);
  const maySpace = evidence === 'same_call' || evidence === 'same_cycle';
  return {
    ...{ name, evidence, times, of, secs, stale, turns: memory.turns.length, actual, limit: settings.haltPoints },
    ...(maySpace && { poll_secs: settings.pollSecs }),
    ...(habit !== undefined && { habit }),
  };
}

/** The result mark of a refusal. */
const refusalMark = 0x64656e79;
/** A failing call may be retried after this time, as with a breaker. */
const failedRetryMs = 60_000;

/** Equal for calls that differ in volatile fields only. */
function callKey({ call, fingerprint }: Action): number {
  return call ?? fingerprint;
}

/** Tool names that imply repetition; a policy may override them. */
const defaultHabits: readonly (readonly [RegExp, Habit])[] = [
  [/(^|_)(status|progress|poll)$|^(poll|check)_|(Bash|Task)Output$/i, 'poll'],
  [/(^|_)(sleep|wait)($|_)/i, 'wait'],
];

/** Finds the habit of a tool by its name, once per name. */
function createHabitLookup(tools: LoopSettings['tools']): (name: string) => Habit | undefined {
  const configured = Object.entries(tools);
  const cache = new Map<string, Habit | undefined>();
  return (name) => {
    if (cache.has(name)) return cache.get(name);
    if (cache.size >= loopHabitsMax) cache.clear();
    const habit =
      configured.findLast(([pattern]) => isMatch(pattern, name)) ?? defaultHabits.find(([like]) => like.test(name));
    cache.set(name, habit?.[1]);
    return habit?.[1];
  };
}
