/**
 * Compares a settled call with the calls before it: whether it brought something new, only repeats one of them, or
 * came after a wait. The world counts: a call after a change with a new input is a new one.
 */

import type { Action } from '../../action.ts';
import { pastCallsMax } from '../../limits.ts';
import type { LoopSettings } from '../../settings.ts';
import type { WorldEffect } from './effect.ts';
import { keyOfCall } from './refused-call.ts';
import type { ResultMark } from './result-mark.ts';
import type { LoopMemory, PastCall } from './state.ts';

/** How a tool is used: meant to be repeated, excluded, or known to read or change. */
export type Habit = 'poll' | 'wait' | 'off' | 'read' | 'change';

/** A settled call, as the detectors read it. */
export interface SettledCall {
  readonly name: string;
  readonly call: number;
  readonly mark: ResultMark;
  /** Absent: unknown, so it may change something. */
  readonly effect: WorldEffect | undefined;
  readonly edit: EditMarks | undefined;
  /** Whether its command waits before it does something. */
  readonly waits: boolean;
  /** The highest similarity to a recent call of the same tool. */
  readonly likeness: number;
  readonly reached: boolean;
  /** Failures of the tool before its breaker opens, if more than the default. */
  readonly chances: number;
  readonly atMs: number;
  readonly tookMs: number;
}

/** Marks of a place in a file with its content before an edit, if known, and after. */
export interface EditMarks {
  readonly stateBefore?: number;
  readonly stateAfter: number;
}

/** What a call is beside earlier ones. `allowed` may repeat for some time; `nothing` is neither new nor a repeat. */
export type Newness = 'new' | 'same' | 'waited' | 'allowed' | 'nothing';

export interface Comparison {
  readonly newness: Newness;
  readonly times: number;
  readonly waitedMs: number;
}

const isNew: Comparison = Object.freeze({ newness: 'new', times: 1, waitedMs: 0 });

/** States of places in files that a task remembers; times between calls of which the usual one is computed. */
export const editedPlacesMax = 32;
export const gapsMax = 15;
/** A shorter answer of an unknown tool is inconclusive. */
const answerLengthMin = 100;
/** A repeat after such a wait is polling. */
const longWaitMs = 30_000;
/** A repeat after such a wait does not count until the agent has waited for `waitsMs`. */
const shortWaitMs = 2_000;
const waitsMs = 90_000;
/** Times that an agent may ask for a thing that is not ready, without waiting. */
const unreadyTimes = 12;
/** Times that an edit may restore a state before it is a repetition. */
const restoresMax = 2;
/** How many times longer than usual a time between two calls is that was a wait. */
const unusualGap = 3;

/** Compares a settled call with the calls before it. */
export function compareWithPast(
  memory: LoopMemory,
  settled: SettledCall,
  settings: LoopSettings,
  habit: Habit | undefined,
  before: PastCall | undefined,
): Comparison {
  const comparison = before === undefined ? compareNewCall(settled) : compareResult(memory, settled, settings, habit);
  const { newness } = comparison;
  if (settled.edit === undefined || !settled.mark.ok || !settled.reached) return comparison;
  if (isRestored(memory, settled)) return newness === 'new' ? { ...comparison, newness: 'same' } : comparison;
  return newness === 'same' ? isNew : comparison; // As an input, a long text counts by its ends only.
}

/** A call with a new input. */
function compareNewCall({ reached, mark, effect, waits, tookMs }: SettledCall): Comparison {
  if (!reached || (mark.ok && effect === 'nothing')) return { ...isNew, newness: 'nothing' };
  const mayWait = waits || mark.retryable === true || mark.unready === true;
  const hasWaited = !mark.ok && mayWait && tookMs >= shortWaitMs && mark.pends !== true;
  return hasWaited ? { ...isNew, waitedMs: tookMs } : isNew;
}

function compareResult(
  memory: LoopMemory,
  settled: SettledCall,
  settings: LoopSettings,
  habit: Habit | undefined,
): Comparison {
  const { call, mark, reached } = settled;
  const { newsAt } = memory;
  const earlier = mark.ok ? findSuccess(memory, settled) : findFailure(memory, call);
  if (earlier === undefined) return compareNewCall(settled);
  if (!reached) return { newness: 'same', times: earlier.times + 1, waitedMs: earlier.waitedMs };
  if (!mark.ok && isFalling(memory, call, mark)) return isNew;
  const { times, waitedMs } = earlier;
  const longest = longestPause(memory, earlier, settled.tookMs);
  if (habit === 'wait' && mark.ok) return { newness: 'waited', times, waitedMs };
  // A failure after a wait may be one of a thing that starts up, or of a network that is away.
  if (mark.ok || mark.unready === true || mark.retryable === true || settled.waits) {
    const enough = mark.ok ? Math.min(longWaitMs, 1000 * settings.pollSecs) : longWaitMs;
    // A long wait between two calls is honest: an open breaker asks for one.
    if (longest >= enough && (mark.ok || mark.pends === true || memory.pauseMs >= longWaitMs))
      return { newness: 'waited', times, waitedMs };
    if (longest >= shortWaitMs) {
      const waited = waitedMs + longest;
      if (waited < waitsMs) return { newness: 'waited', times, waitedMs: waited };
      return { newness: 'same', times: times + 1, waitedMs: waited };
    }
  }
  const count = !mark.ok || earlier.at >= newsAt ? times + 1 : 1;
  const mayStart = mark.unready === true || habit === 'poll' || isInconclusive(settled);
  return { newness: mayStart && count <= unreadyTimes ? 'allowed' : 'same', times: count, waitedMs };
}

/** The last success of a call in this world, if its result is the same; in a world that came back, any such success. */
function findSuccess({ pastCalls, world, worldFrom }: LoopMemory, { call, mark }: SettledCall): PastCall | undefined {
  const isEqual = (past: PastCall) => past.call === call && past.ok && past.exact === mark.exact;
  const last = pastCalls.findLast((past) => past.call === call && past.ok && past.world >= worldFrom);
  if (last === undefined || isEqual(last)) return last;
  return worldFrom < world ? pastCalls.findLast((past) => isEqual(past) && past.world >= worldFrom) : undefined;
}

/** Whether a short answer of an unknown tool says too little: "ok", after each of many moves. */
export function isInconclusive({ effect, mark }: SettledCall): boolean {
  return mark.ok && effect === undefined && mark.length < answerLengthMin;
}

/** The last result of a call in this world, if it is a failure. */
function findFailure({ pastCalls, worldFrom }: LoopMemory, call: number): PastCall | undefined {
  const last = pastCalls.findLast((past) => past.call === call && past.reached && past.world >= worldFrom);
  return last?.ok === false ? pastCalls.findLast((past) => past.call === call) : undefined;
}

/** Whether a number in an otherwise equal error is lower than ever before. */
function isFalling({ pastCalls, worldFrom }: LoopMemory, call: number, { loose, numbers }: ResultMark): boolean {
  const others = pastCalls.filter(
    (past) => past.call === call && !past.ok && past.reached && past.loose === loose && past.world >= worldFrom,
  );
  if (others.length === 0 || numbers === undefined) return false;
  return numbers.some((number, at) =>
    others.every((past) => number < (past.numbers?.[at] ?? Number.NEGATIVE_INFINITY)),
  );
}

/**
 * A number that is equal for equal errors of a tool until something is changed: then the count of equal errors begins
 * anew. Errors after a wait, and those of what may still start up, are never equal.
 */
export function markError(
  { pastCalls, changedAt, settled }: LoopMemory,
  { name, waits }: Pick<Action, 'name' | 'waits'>,
  { exact, retryable, unready }: ResultMark,
  tookMs: number,
): number {
  if (tookMs >= shortWaitMs && (waits === true || retryable === true || unready === true)) return exact ^ settled || 1;
  const isAlike = (past: PastCall) => past.name === name && !past.ok && past.exact === exact && past.at > changedAt;
  const alike = unready === true ? pastCalls.filter(isAlike).length : unreadyTimes;
  return Math.imul(exact ^ changedAt, alike < unreadyTimes ? alike + 3 : 1) || 1;
}

/** Whether a call had the same error before, and nothing was changed since. */
export function repeatsError({ pastCalls, changedAt }: LoopMemory, action: Action, { exact }: ResultMark): boolean {
  const key = keyOfCall(action);
  return pastCalls.some((past) => past.call === key && !past.ok && past.exact === exact && past.at > changedAt);
}

/** The longest wait since an earlier call. */
function longestPause({ pastCalls, pauseMs }: LoopMemory, earlier: PastCall, tookMs: number): number {
  let longest = Math.max(pauseMs, tookMs);
  for (let at = pastCalls.length - 1; at >= 0 && pastCalls[at] !== earlier; at--)
    longest = Math.max(longest, pastCalls[at]!.reached ? pastCalls[at]!.pauseMs : 0);
  return longest;
}

/** Records a settled call. */
export function recordPastCall(
  memory: LoopMemory,
  settled: SettledCall,
  { newness, times, waitedMs }: Comparison,
): void {
  const { name, call, mark, reached, chances, atMs, tookMs } = settled;
  const worldBefore = memory.world;
  recordChange(memory, settled, newness);
  const at = ++memory.settled;
  if (memory.world > worldBefore && mark.ok) memory.changedAt = at;
  if (settled.effect === 'change' && mark.ok && newness === 'new') memory.editedAt = at;
  const { ok, exact, loose, length, retryable = false, unready = false, numbers, says } = mark;
  const pauseMs = Math.max(memory.pauseMs, tookMs);
  if (memory.pastCalls.length >= pastCallsMax) memory.pastCalls.shift();
  const { world } = memory;
  const past = {
    name,
    call,
    reached,
    chances,
    atMs,
    ok,
    exact,
    loose,
    length,
    retryable,
    unready,
    pauseMs,
    at,
    world,
    times,
    waitedMs,
    inconclusive: isInconclusive(settled),
  };
  memory.pastCalls.push(
    numbers === undefined && says === undefined
      ? past
      : { ...past, ...(numbers && { numbers }), ...(says && { says }) },
  );
  memory.pauseMs = 0;
  memory.idleFromMs = atMs;
  if (newness === 'new' || newness === 'waited') memory.newsAt = at;
}

/** Begins a new world after a change with a new input, or returns to an earlier world. */
function recordChange(memory: LoopMemory, settled: SettledCall, newness: Newness): void {
  const { call, mark, effect, edit, reached } = settled;
  if (!reached || effect === 'read' || effect === 'nothing') return;
  if (edit !== undefined) {
    if (mark.ok) recordEdit(memory, edit, isRestored(memory, settled));
    return;
  }
  const known = memory.pastCalls.filter((past) => past.call === call && past.reached);
  // The same input with the same result has done what it did before, if the result says enough.
  const isSame = () => known.some(({ ok, exact }) => ok && exact === mark.exact) && !isInconclusive(settled);
  if (known.length > 0 && !(mark.ok && newness === 'new' && !isSame())) return;
  beginWorld(memory);
  memory.commandWorld = memory.world;
}

/** Whether an edit only brings back a state that the place had before, once more than it may. */
function isRestored({ edits, commandWorld }: LoopMemory, { edit, mark, reached }: SettledCall): boolean {
  if (edit === undefined || !mark.ok || !reached) return false;
  const visits = edits.filter(({ state }) => state === edit.stateAfter);
  const last = visits.at(-1);
  // After another change the same edit is made in another place or on another branch.
  if (last === undefined || last.world < commandWorld) return false;
  return edits.at(-1) === last || visits.length >= restoresMax;
}

function recordEdit(
  memory: LoopMemory,
  { stateBefore: before, stateAfter: after }: EditMarks,
  restored: boolean,
): void {
  const { edits } = memory;
  if (restored) {
    const first = edits.find(({ state, world }) => state === after && world >= memory.commandWorld);
    memory.worldFrom = Math.min(memory.worldFrom, first?.world ?? memory.worldFrom);
    return;
  }
  if (before !== undefined && edits.every(({ state }) => state !== before))
    edits.push({ state: before, world: memory.world });
  beginWorld(memory);
  edits.push({ state: after, world: memory.world });
  while (edits.length > editedPlacesMax) edits.shift();
}

function beginWorld(memory: LoopMemory): void {
  memory.world++;
  memory.worldFrom = memory.world;
}

/** The last result of a call, if the call may not be made once more: it repeats what is known. */
export function findOver(
  { pastCalls, newsAt, worldFrom }: LoopMemory,
  call: number,
  { repeats }: LoopSettings,
  habit: Habit | undefined,
  isWatched = false,
): PastCall | undefined {
  const last = pastCalls.findLast((past) => past.call === call);
  if (last === undefined || last.world < worldFrom || (last.ok && last.at < newsAt)) return undefined;
  const { ok, times, waitedMs, chances, unready, inconclusive } = last;
  const mayStart = unready || habit === 'poll';
  // After the agent has waited for long enough, what does not start is asked for a few times more.
  if (unready && waitedMs >= waitsMs) return times >= (isWatched ? 4 : 2) ? last : undefined;
  const limit = Math.max(repeats, ok ? 0 : chances, mayStart || inconclusive ? unreadyTimes : 0);
  return times >= limit ? last : undefined;
}

/** Whether the last call asked again for something that is not ready, without waiting. */
export function isImpatient({ pastCalls }: LoopMemory, habit: Habit | undefined): boolean {
  const last = pastCalls.at(-1);
  return last !== undefined && last.times >= impatientTimes && (last.unready || habit === 'poll');
}

const impatientTimes = 3;

/**
 * Records the time before a call. Before a call of a model it is known to be a wait. Before another call a model may
 * have been asked that nobody saw: then a time counts as a wait if it is long, or much longer than usual.
 */
export function recordGap(memory: LoopMemory, atMs: number, isModel: boolean, { pollSecs }: LoopSettings): void {
  const gapMs = atMs - memory.idleFromMs;
  const { gaps } = memory;
  const isUnusual = () => isModel || (gaps.length > 0 && gapMs >= unusualGap * median(gaps));
  if (gapMs >= longWaitMs || (gapMs >= 1000 * pollSecs && isUnusual()))
    memory.pauseMs = Math.max(memory.pauseMs, gapMs);
  memory.idleFromMs = atMs;
  if (isModel) return;
  if (gaps.length >= gapsMax) gaps.shift();
  gaps.push(gapMs);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? 0;
}
