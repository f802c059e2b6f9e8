/** What a task said and asked for lately, kept as numbers: to see words, and calls, that come again. */

import { evictOldest } from '../../core/bounded.ts';
import type { ResultMark } from '../../core/controls/loop/result-mark.ts';
import { isKnownAnswer } from '../../core/controls/loop/score.ts';
import type { TextObserved } from '../../core/event.ts';
import {
  countedIdsMax,
  fingerprintDepthMax,
  fingerprintEntriesMax,
  markLengthMax,
  recentTextsMax,
} from '../../core/limits.ts';
import type { LoopSettings } from '../../core/settings.ts';
import { jaccard, maxSimilarity, tokenize } from '../../core/similarity.ts';
import type { TaskState } from './task.ts';

/** A call that was seen in a stream and has not come back yet. */
export interface TrackedCall {
  readonly name: string;
  readonly call: number;
}

interface KeptCall {
  readonly id: string | number;
  readonly name: string;
  readonly text: string;
  /** Whether the words before it had come before. */
  readonly recurs: boolean;
  /** Whether its result came: one that was refused, or asked about and made anew, is nothing to be like. */
  answered: boolean;
  words?: Int32Array;
}

export interface RecentOutput {
  /** The words of the last text, and of the last ones. */
  words: Int32Array | undefined;
  texts: Int32Array[];
  /** Whether the last text was nearly the same as one before it. */
  recurs: boolean;
  /** The last calls; their words are taken apart only when they are compared. */
  calls: KeptCall[];
  /** A prompt that had been seen before came again since the last text. */
  asked: boolean;
  open: Map<string, TrackedCall> | undefined;
}

/** Shorter texts, and calls, say too little to be compared. */
const wordsMin = 4;

export function recentOutputOf(task: TaskState): RecentOutput {
  task.recentOutput ??= { words: undefined, texts: [], recurs: false, calls: [], asked: false, open: undefined };
  return task.recentOutput;
}

/** What is to be known of a text: how alike it is to the one before it, and whether it came before. */
export function recordText(task: TaskState, text: string, settings: LoopSettings): Omit<TextObserved, 'atMs'> {
  const output = recentOutputOf(task);
  const words = tokenize(text, settings.tokenCap);
  const similarity = output.words === undefined ? -1 : jaccard(output.words, words);
  const { nearThreshold } = settings;
  const recurs = words.length >= wordsMin && maxSimilarity(words, output.texts, nearThreshold) >= nearThreshold;
  if (words.length >= wordsMin) pushBounded(output.texts, words);
  const { asked } = output;
  output.words = words;
  output.recurs = recurs;
  output.asked = false;
  return { type: 'text-observed', similarity, ...(recurs && { recurs }), ...(asked && { asked }) };
}

/** Keeps a call, to compare later ones with; only where texts are heard, too. */
export function recordCall(task: TaskState, id: string | number, name: string, args: unknown): void {
  const output = task.recentOutput;
  if (output !== undefined)
    pushBounded(output.calls, { id, name, text: argumentsAsText(args), recurs: output.recurs, answered: false });
}

/**
 * How alike a call is to the likest of those of its tool before it. Asked only where that may tell something: the words
 * before it had come again, or its answer had.
 */
export function compareCall(task: TaskState, id: string | number, mark: ResultMark | undefined): number {
  const calls = task.recentOutput?.calls ?? [];
  const at = calls.findLastIndex((call) => call.id === id);
  const call = calls[at];
  if (call === undefined) return 0;
  call.answered = true;
  if (mark === undefined) return 0;
  if (!call.recurs && !isKnownAnswer(task.cells.loop?.state.memory ?? null, call.name, mark)) return 0;
  const words = callWords(call);
  if (words.length < wordsMin) return 0;
  const others = calls.slice(0, at).filter(({ name, answered }) => answered && name === call.name);
  return maxSimilarity(words, others.map(callWords), 0);
}

function callWords(call: KeptCall): Int32Array {
  call.words ??= tokenize(call.text, undefined, true);
  return call.words;
}

/** A call was seen whose result is yet to come. */
export function trackCall(task: TaskState, id: string, call: TrackedCall): void {
  const output = recentOutputOf(task);
  output.open ??= new Map();
  evictOldest(output.open, countedIdsMax);
  output.open.set(id, call);
}

/** The call that a result belongs to, once. */
export function takeTrackedCall(task: TaskState, id: unknown): TrackedCall | undefined {
  const call = task.recentOutput?.open?.get(id as string);
  if (call === undefined) return undefined;
  task.recentOutput?.open?.delete(id as string);
  task.counted?.delete(`call:${id}`); // Some hosts number their calls anew each turn: the next one is another.
  return call;
}

/** Genuinely new words of a person: what was said before is no measure for what comes. */
export function clearRecentOutput(task: TaskState): void {
  const open = task.recentOutput?.open;
  task.recentOutput = undefined;
  if (open?.size) recentOutputOf(task).open = open;
}

function pushBounded<T>(items: T[], item: T): void {
  items.push(item);
  if (items.length > recentTextsMax) items.shift();
}

/** Arguments as text, as far as they are compared. */
function argumentsAsText(args: unknown): string {
  const parts: string[] = [];
  try {
    collect(args, parts, { left: markLengthMax }, 0);
  } catch {
    return ''; // A getter that throws, a revoked proxy: it is compared by its fingerprint alone.
  }
  // Joined, it is a string of its own: a piece of a long one would keep the whole of it in memory.
  return parts.join(' ');
}

function collect(value: unknown, parts: string[], room: { left: number }, depth: number): void {
  if (room.left <= 0 || depth > fingerprintDepthMax) return;
  if (typeof value === 'object' && value !== null) {
    // Names of fields say nothing: every call of a batch has them. A list is cut before its keys are asked for.
    const shown = ArrayBuffer.isView(value) ? [] : Array.isArray(value) ? value.slice(0, fingerprintEntriesMax) : value;
    for (const key of Object.keys(shown).slice(0, fingerprintEntriesMax)) {
      collect((shown as Record<string, unknown>)[key], parts, room, depth + 1);
    }
    return;
  }
  const text = typeof value === 'string' ? value.slice(0, room.left) : String(value);
  room.left -= text.length + 1;
  parts.push(text, '');
}
