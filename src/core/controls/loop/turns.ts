/** The last turns of the model: their points, and how many of them in a row only repeat calls. */

import type { TextObserved } from '../../event.ts';
import type { LoopSettings } from '../../settings.ts';
import { nothingNew, somethingNew } from './output-streak.ts';
import { compareWithPast, type Habit, type Newness, recordPastCall, type SettledCall } from './past-calls.ts';
import { scoreCall } from './score.ts';
import { ensureMemory, type LoopMemory, type LoopState, type Turn } from './state.ts';

/** Turns in a row that only repeat calls end the task, if at least half of them repeat for certain. */
const repeatingTurnsMax = 10;
const certainRepeatsMin = repeatingTurnsMax / 2;

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
  const memory = ensureMemory(state, settled.atMs);
  memory.answered = true;
  if (habit === 'off') return;
  const { name, call, mark, reached, atMs } = settled;
  const before = memory.pastCalls.findLast((past) => past.call === call);
  if (mark.ok && before?.ok === false) clearFailurePoints(memory, name);
  const comparison = compareWithPast(memory, settled, settings, habit, before);
  const { newness } = comparison;
  const { evidence, points, weak, times, first } = scoreCall(memory, settled, newness, settings, before);
  const sinceMs = memory.pastCalls[first]?.atMs ?? atMs;
  const of = memory.pastCalls.length - first + 1;
  recordPastCall(memory, settled, comparison);
  // A failure ends a row of alike texts: the words are the same, the work is not.
  const isNothing = newness === 'nothing' || (newness === 'same' && mark.ok);
  state.between = Math.max(state.between, isNothing || !reached ? nothingNew : somethingNew);
  countRepeats(memory, newness);
  if (mark.ok && evidence === 'news') {
    placeTurn(memory, newsTurn, settings);
    return;
  }
  const secs = Math.round((atMs - sinceMs) / 1000);
  const { says } = mark;
  const turn = { evidence, points, name, failed: !mark.ok, times, of, secs };
  placeTurn(memory, { ...turn, ...(weak && { weak }), ...(says && { says }) }, settings);
}

/** Counts turns in a row that only repeat calls. */
function countRepeats(memory: LoopMemory, newness: Newness): void {
  if (!memory.placed) memory.isRepeat = false;
  if (newness === 'new' || newness === 'waited' || newness === 'allowed') {
    memory.repeating = 0;
    memory.repeats = 0;
    return;
  }
  if (!memory.placed) memory.repeating++;
  if (newness !== 'same' || memory.isRepeat) return;
  memory.isRepeat = true;
  memory.repeats++;
}

/** Whether the last turns only repeated calls whose results were known. */
export function onlyRepeats({ repeating, repeats }: LoopMemory): boolean {
  return repeating >= repeatingTurnsMax && repeats >= certainRepeatsMin;
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

/** Records a text. If `calls` is absent, a later event shows whether calls belong to the text. */
export function openText(state: LoopState, text: TextObserved, settings: LoopSettings): void {
  const { recurs = false, isSorry = false, calls, atMs } = text;
  const memory = ensureMemory(state, atMs);
  closeText(memory, settings);
  memory.recurs = recurs;
  memory.recurring = ((memory.recurring << 1) | (recurs ? 1 : 0)) & textBits;
  memory.apologies = ((memory.apologies << 1) | (recurs && isSorry ? 1 : 0)) & textBits;
  memory.spoke = true;
  memory.placed = false;
  memory.answered = true;
  memory.waiting = calls !== true;
  memory.idleFromMs = atMs;
  if (calls === false) closeText(memory, settings);
}

/** The last eight texts, a bit for each. */
const textBits = 0xff;

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
    if (weigh(turn) < weigh(turns.at(-1)!)) turns[turns.length - 1] = turn;
    return;
  }
  memory.placed = true;
  turns.push(turn);
  while (turns.length > settings.turns) turns.shift(); // A reloaded policy may count fewer turns.
}

/** The points of the last turns. */
export function sumPoints({ turns }: LoopMemory): number {
  let points = 0;
  for (const turn of turns) points += turn.points;
  return points;
}

/** All points of a turn, for a strong suspicion. */
export function weigh({ points, weak = 0 }: Turn): number {
  return points + weak;
}

/** Whether the last turn may cause a hint. A refused call halts the task by its repetition. */
export function mayActOnLastTurn(memory: LoopMemory, settings: LoopSettings): boolean {
  const last = memory.turns.at(-1);
  if (last === undefined || weigh(last) === 0 || memory.pastCalls.at(-1)?.reached === false) return false;
  return !last.failed || mayActOnLastCall(memory, settings);
}

/**
 * Whether the last call may cause a hint or a halt. A failure counts only after the failures that the tool may have
 * (R29): until then the count of the breaker decides.
 */
export function mayActOnLastCall({ pastCalls }: LoopMemory, { repeats }: LoopSettings): boolean {
  const last = pastCalls.at(-1);
  if (last === undefined || last.ok) return true;
  const failures = pastCalls.filter(({ ok, reached, name }) => !ok && reached && name === last.name).length;
  return failures >= Math.max(repeats, last.chances);
}
