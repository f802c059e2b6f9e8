/** The loop control: warns, refuses and halts an agent that repeats its texts, its calls or its failures. */

import type { Action } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { ActionDecided, ActionSettled, ControlEvent } from '../../event.ts';
import { isMatch } from '../../glob.ts';
import { loopHabitsMax } from '../../limits.ts';
import type { LoopSettings } from '../../settings.ts';
import { allow, type Counters, type Stop, type Verdict } from '../../verdict.ts';
import { countOutput, endStreak } from './output-streak.ts';
import { findOver, type Habit, recordGap } from './past-calls.ts';
import { countRefusals, forgetRefusal, keyOfCall, recordRefusal } from './refused-call.ts';
import { ensureMemory, initialLoop, type LoopMemory, type LoopState, type PastCall } from './state.ts';
import { findSuspicion } from './suspicion.ts';
import { mayActOnLastCall, onlyRepeats, openText, openTurn, recordSettledCall } from './turns.ts';

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
    hint: ({ memory }) => (memory === null ? undefined : findSuspicion(memory, context.settings, context.findHabit)),
  };
}

/** Halts a call that was refused too often, and refuses a call that would only repeat what is known. */
function judgeCall({ settings, findHabit }: LoopContext, state: LoopState, action: Action, atMs: number): Verdict {
  const times = countRefusals(state.refused, action, atMs);
  if (times >= settings.refusedRepeats) {
    const counters = { name: action.name, actual: times + 1, limit: settings.refusedRepeats };
    const over = state.memory && findOver(state.memory, keyOfCall(action), settings, findHabit(action.name));
    const facts = over ? describeOver(state.memory!, over, settings, findHabit(action.name)) : {};
    return makeStop('halt', 'tool_loop', { ...facts, ...counters });
  }
  const { memory } = state;
  const call = keyOfCall(action);
  if (memory === null || call === 0) return allow;
  const habit = findHabit(action.name);
  const over = habit === 'off' ? undefined : findOver(memory, call, settings, habit);
  if (over === undefined) return allow;
  const last = memory.pastCalls.findLast((past) => past.call === call && past.reached);
  // What waiting may fix is left to the breaker.
  if (over.retryable && !over.unready) return allow;
  const retryAtMs = (last?.atMs ?? atMs) + retryAfterMs;
  if (atMs >= retryAtMs) return allow;
  return { ...makeStop('deny', 'tool_loop', describeOver(memory, over, settings, habit)), retryAtMs };
}

/** Records in the state whether an event is a repetition. */
function applyEvent(context: LoopContext, state: LoopState, event: ControlEvent): void {
  const { settings, findHabit } = context;
  switch (event.type) {
    case 'action-decided':
      recordDecision(context, state, event);
      return;
    case 'action-settled': {
      const { permit, result, likeness, atMs } = event;
      const { action } = permit;
      const call = keyOfCall(action);
      const timed = { result, likeness, atMs, tookMs: atMs - permit.atMs };
      if (action.kind === 'model' && state.memory !== null) state.memory.idleFromMs = atMs;
      if (call !== 0 && action.kind === 'tool') recordResult(context, state, action, call, timed, action.chances);
      return;
    }
    case 'call-observed': {
      if (event.silent === true) endStreak(state);
      const memory = ensureMemory(state, event.atMs);
      const { call = 0, name } = event;
      const habit = findHabit(name);
      memory.again = habit !== 'off' && findOver(memory, call, settings, habit, true) !== undefined ? call : 0;
      openTurn(memory);
      return;
    }
    case 'result-observed':
      recordResult(context, state, event, event.call, event);
      return;
    case 'text-observed':
      countOutput(state, event, settings);
      openText(state, event, settings);
      return;
    case 'usage-observed':
    case 'sign-observed':
      if (state.memory !== null && (event.type === 'usage-observed' || event.isAnswer === true))
        state.memory.idleFromMs = event.atMs;
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
  const { memory } = state;
  if (verdict.kind === 'allow') {
    forgetRefusal(state.refused, keyOfCall(action));
    if (memory === null) return;
    if (action.afterModel !== true) recordGap(memory, atMs, action.kind === 'model', context.settings);
    if (action.kind !== 'model') openTurn(memory);
    return;
  }
  recordRefusal(state.refused, action, verdict.retryAtMs ?? -1, atMs);
  const call = keyOfCall(action);
  if (call !== 0) recordRefusedCall(context, state, action, call, atMs);
}

/**
 * A refusal counts as one more occurrence of the repeated call and result, so that a refusal never hides a loop
 * (R29).
 */
function recordRefusedCall(context: LoopContext, state: LoopState, action: Action, call: number, atMs: number): void {
  const memory = ensureMemory(state, atMs);
  openTurn(memory);
  const last = memory.pastCalls.findLast((past) => past.call === call);
  const result = last ?? { ok: false, exact: refusalMark, loose: refusalMark, length: 0 };
  recordResult(context, state, action, call, { result, atMs, tookMs: 0 }, action.chances, false);
}

/** A result with its times. */
interface Timed {
  readonly atMs: number;
  readonly result?: ActionSettled['result'] | undefined;
  readonly likeness?: number | undefined;
  readonly tookMs?: number | undefined;
}

/** The name of a call and what it does to the world. */
type CallFacts = Pick<Action, 'name' | 'effect' | 'edit' | 'waits'>;

function recordResult(
  { settings, findHabit }: LoopContext,
  state: LoopState,
  { name, effect, edit, waits }: CallFacts,
  call: number,
  { result: mark, likeness = 0, atMs, tookMs = 0 }: Timed,
  chances = 0,
  reached = true,
): void {
  if (mark === undefined) {
    if (state.memory !== null) state.memory.answered = true; // The result is unreadable.
    return;
  }
  const habit = findHabit(name);
  const does = habit === 'read' || habit === 'change' ? habit : effect;
  const facts = { name, call, mark, effect: does, edit, waits: waits === true, likeness };
  recordSettledCall(state, { ...facts, reached, chances, atMs, tookMs }, settings, habit);
}

/** Halts a task whose texts or calls repeat for certain, after any event. */
function checkRepetition({ settings, findHabit }: LoopContext, state: LoopState): Verdict {
  const { windowSize: limit, similarityJaccardThreshold: threshold } = settings;
  // Alike outputs in a row, or once more if other outputs came in between.
  if (state.alike >= limit - 1 || (settings.rowAcrossOutputs && state.times > limit)) {
    const isRow = state.alike >= limit - 1;
    const facts = { actual: isRow ? state.alike + 1 : state.times, similarity: isRow ? state.likeness : threshold };
    return makeStop('halt', 'output_loop', { ...facts, limit, threshold });
  }
  const { memory } = state;
  if (memory === null) return allow;
  const { again, repeating } = memory;
  const past = again === 0 ? undefined : memory.pastCalls.findLast(({ call }) => call === again);
  const habit = past && findHabit(past.name);
  const over = past && findOver(memory, again, settings, habit, true);
  if (over !== undefined) return makeStop('halt', 'tool_loop', describeOver(memory, over, settings, habit));
  if (!onlyRepeats(memory) || !mayActOnLastCall(memory, settings)) return allow;
  const last = memory.pastCalls.at(-1)!;
  return makeStop('halt', 'tool_loop', { name: last.name, evidence: 'same_cycle', times: repeating });
}

/** The counters of a call that may not be made once more. */
function describeOver(memory: LoopMemory, over: PastCall, settings: LoopSettings, habit: Habit | undefined): Counters {
  const { name, ok, says, unready, call } = over;
  const { pastCalls, worldFrom, newsAt } = memory;
  const asked = pastCalls.filter(
    (past) =>
      past.call === call && past.reached && past.ok === ok && past.world >= worldFrom && (!ok || past.at >= newsAt),
  );
  const secs = Math.round((over.atMs - (asked[0] ?? over).atMs) / 1000);
  const isUnready = unready || habit === 'poll' || over.waitedMs > 0;
  const times = Math.max(asked.length, isUnready ? 0 : Math.min(over.times, settings.repeats));
  const evidence = isUnready ? 'unready' : ok ? 'same_call' : 'same_failure';
  const limit = settings.repeats;
  return { name, evidence, times, secs, limit, ...(says && { says }) };
}

function makeStop(kind: Stop['kind'], code: 'tool_loop' | 'output_loop', counters: Counters): Stop {
  return { kind, code, control: 'loop', counters };
}

/** The result mark of a refusal. */
const refusalMark = 0x64656e79;
/** A refused call may be made again after this time, as with a breaker. */
const retryAfterMs = 60_000;

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
