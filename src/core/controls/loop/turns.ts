/** The points of the last turns: a turn that repeats something has points, a turn with news has none. */

import { pastCallsMax } from '../../limits.ts';
import type { LoopSettings } from '../../settings.ts';
import { nothingNew, somethingNew } from './output-streak.ts';
import { type Habit, type SettledCall, scoreCall } from './score.ts';
import { ensureMemory, type LoopMemory, type LoopState, type PastCall, type Repeated, type Turn } from './state.ts';

/** Records a proposed call. After a result the call starts a new turn; otherwise it runs in parallel. */
export function openTurn(memory: LoopMemory): void {
  memory.waiting = false; // The text was followed by a call.
  if (memory.answered) {
    memory.placed = false;
    if (!memory.spoke) memory.recurs = false; // A turn without a text repeats no text.
    memory.spoke = false;
  }
  memory.answered = false;
}

/** Records a settled call. If a turn has several calls, the one with the most news counts. */
export function recordSettledCall(
  state: LoopState,
  settled: SettledCall,
  settings: LoopSettings,
  habit: Habit | undefined,
): void {
  const memory = ensureMemory(state);
  memory.answered = true;
  if (habit === 'off') return;
  const { name, call, mark, reached, chances, atMs } = settled;
  const { evidence, points, times, first, spaced = false } = scoreCall(memory, settled, settings, habit);
  const { seen: pastCalls } = memory;
  if (mark.ok && hasFailure(memory) && pastCalls.findLast((past) => past.call === call)?.ok === false) {
    clearFailurePoints(memory, name);
  }
  const sinceMs = pastCalls[first]?.atMs ?? atMs;
  const of = pastCalls.length - first + 1;
  if (pastCalls.length >= pastCallsMax) pastCalls.shift();
  const { ok, exact, loose, length, retryable = false } = mark;
  pastCalls.push({ name, call, reached, chances, atMs, ok, exact, loose, length, retryable });
  const repeats = ((evidence === 'same_call' || evidence === 'same_cycle') && !spaced) || !reached;
  state.between = Math.max(state.between, repeats ? nothingNew : somethingNew);
  const secs = Math.round((atMs - sinceMs) / 1000);
  const isNews = evidence === 'news' && ok;
  placeTurn(memory, isNews ? newsTurn : { evidence, points, name, failed: !ok, times, of, secs }, settings);
}

/** The shared turn with news: the commonest turn, without data. */
const newsTurn: Turn = Object.freeze({
  evidence: 'news',
  points: 0,
  name: '',
  failed: false,
  times: 1,
  of: 1,
  secs: 0,
});

/** Clears the points of failures of a call that works now. */
function clearFailurePoints({ turns }: LoopMemory, name: string): void {
  for (const turn of turns) if (turn.failed && turn.name === name) turn.points = 0;
}

/** Records a text. If `calls` is undefined, a later event shows whether calls belong to the text. */
export function openText(state: LoopState, recurs: boolean, calls: boolean | undefined, settings: LoopSettings): void {
  const memory = ensureMemory(state);
  closeText(memory, settings);
  memory.recurs = recurs;
  memory.spoke = true;
  memory.placed = false;
  memory.answered = true;
  memory.waiting = calls !== true;
  if (calls === false) closeText(memory, settings);
}

/** Records a text without a call as a turn of its own. */
function closeText(memory: LoopMemory, settings: LoopSettings): void {
  if (!memory.waiting) return;
  memory.waiting = false;
  memory.texts = memory.recurs ? memory.texts + 1 : 0;
  const times = memory.texts + 1;
  const again = { ...newsTurn, evidence: 'same_words', points: settings.wordsPoints, times, of: times } as const;
  placeTurn(memory, memory.recurs ? again : newsTurn, settings);
}

function placeTurn(memory: LoopMemory, turn: Turn, settings: LoopSettings): void {
  const { turns } = memory;
  if (memory.placed) {
    if (turn.points < turns.at(-1)!.points) turns[turns.length - 1] = turn;
    return;
  }
  memory.placed = true;
  turns.push(turn);
  while (turns.length > settings.turns) turns.shift(); // A reloaded policy may count fewer turns.
}

/** Whether any remembered call failed. */
export function hasFailure({ seen: pastCalls }: LoopMemory): boolean {
  for (const { ok } of pastCalls) if (!ok) return true;
  return false;
}

/** The points of the last turns. */
export function sumPoints({ turns }: LoopMemory): number {
  let points = 0;
  for (const turn of turns) points += turn.points;
  return points;
}

/**
 * Whether the last turn may cause a refusal. A failure counts only after the failures that the tool may have (R29):
 * until then the count of the breaker decides. A refused call halts the task by its repetition, not by its points.
 */
export function mayActOnLastTurn({ turns, seen: pastCalls }: LoopMemory, settings: LoopSettings): boolean {
  const last = turns.at(-1);
  if (last === undefined || last.points === 0 || pastCalls.at(-1)?.reached === false) return false;
  if (!last.failed) return true;
  const failures = pastCalls.filter((call) => !call.ok && call.reached && call.name === last.name).length;
  return failures >= Math.max(settings.failedRepeats, pastCalls.at(-1)!.chances);
}

/** The repeated result of a call. */
interface RepeatedCall extends Repeated {
  readonly last: PastCall;
}

/**
 * Finds a call that returned the same result more than once, or failed in the same way too often. A later call of
 * another tool may have fixed the failure, so that call restarts the count.
 */
export function findRepeat(
  { seen: pastCalls }: LoopMemory,
  call: number,
  settings: LoopSettings,
): RepeatedCall | undefined {
  const last = pastCalls.findLast((past) => past.call === call && past.reached);
  if (last === undefined) return undefined;
  const { ok, name, exact, loose, chances, atMs } = last;
  let [times, of, count, sinceMs] = [0, 0, 0, atMs];
  for (let at = pastCalls.length - 1; at >= 0; at--) {
    const past = pastCalls[at]!;
    if (!ok && past.ok && past.name !== name) break;
    if (!past.reached) continue;
    count++;
    if (past.call !== call || past.ok !== ok || (ok ? past.exact !== exact : past.loose !== loose)) continue;
    times++;
    of = count;
    sinceMs = past.atMs;
  }
  if (times < (ok ? 2 : Math.max(settings.failedRepeats, chances))) return undefined;
  const secs = Math.round((atMs - sinceMs) / 1000);
  return { last, name, evidence: ok ? 'same_call' : 'same_error', times, of, secs };
}
