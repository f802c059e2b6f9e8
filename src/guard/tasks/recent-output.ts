/** Keeps the recent texts and calls of a task as hashes, to find repeated ones. */

import { evictOldest } from '../../core/bounded.ts';
import { endsRow } from '../../core/controls/loop/output-streak.ts';
import type { ResultMark } from '../../core/controls/loop/result-mark.ts';
import { isKnownAnswer } from '../../core/controls/loop/score.ts';
import type { TextObserved } from '../../core/event.ts';
import { textOf } from '../../core/foreign-text.ts';
import {
  collectedValuesMax,
  countedIdsMax,
  fingerprintDepthMax,
  fingerprintEntriesMax,
  markLengthMax,
  recentTextsMax,
} from '../../core/limits.ts';
import type { LoopSettings } from '../../core/settings.ts';
import { jaccard, maxSimilarity, tokenize } from '../../core/similarity.ts';
import { listKeys, type markEffect } from '../runtime/fingerprint.ts';
import type { TaskState } from './task.ts';

/** An observed call without a result. */
export interface TrackedCall {
  readonly name: string;
  readonly call: number;
  readonly atMs: number;
  readonly does: ReturnType<typeof markEffect>;
}

interface KeptCall {
  readonly id: string | number;
  readonly name: string;
  readonly text: string;
  /** Whether the text before the call was a repeated one. */
  readonly recurs: boolean;
  /** Whether the call has a result. A call that was refused, or made again after a question, is not compared. */
  answered: boolean;
  words?: Int32Array;
}

export interface RecentOutput {
  /** The word hashes of the last text and of earlier ones. */
  words: Int32Array | undefined;
  texts: Int32Array[];
  /** The texts since a call brought something new. */
  since: Int32Array[];
  /** Whether the last text was nearly the same as an earlier one. */
  recurs: boolean;
  /** The last calls; they are split into words only when they are compared. */
  calls: KeptCall[];
  /** Whether a prompt was repeated since the last text. */
  asked: boolean;
  open: Map<string, TrackedCall> | undefined;
}

const replyWordsMax = 2;
const apology = /\b(sorry|apologi[sz]e|apologies|my mistake)\b/i;

/** Texts and calls with fewer words are not compared. */
const wordsMin = 4;

export function recentOutputOf(task: TaskState): RecentOutput {
  task.recentOutput ??= {
    words: undefined,
    texts: [],
    since: [],
    recurs: false,
    calls: [],
    asked: false,
    open: undefined,
  };
  return task.recentOutput;
}

/** Records a text; returns its similarity to the last one, and whether it repeats an earlier one. */
export function recordText(task: TaskState, text: string, settings: LoopSettings): Omit<TextObserved, 'atMs'> {
  const output = recentOutputOf(task);
  const words = tokenize(text, settings.tokenCap);
  // A short answer to a prompt that comes again and again, such as that of a heartbeat, is none of a row.
  const isReply = output.asked && words.length <= replyWordsMax;
  const similarity = output.words === undefined || isReply ? -1 : jaccard(output.words, words);
  const { nearThreshold } = settings;
  const recurs = words.length >= wordsMin && maxSimilarity(words, output.texts, nearThreshold) >= nearThreshold;
  if (words.length >= wordsMin) pushBounded(output.texts, words);
  if (task.cells.loop !== undefined && endsRow(task.cells.loop.state, settings.rowAcrossCalls && !output.asked))
    output.since = [];
  const isAlike = (other: Int32Array) => jaccard(other, words) >= settings.similarityJaccardThreshold;
  // A text that is nearly the same as none of the last ones is alike to none of them.
  const mayBeAlike = recurs || (!isReply && words.length > 0 && words.length < wordsMin);
  const times = mayBeAlike ? output.since.filter(isAlike).length + 1 : 1;
  pushBounded(output.since, words);
  const { asked } = output;
  output.words = words;
  output.recurs = recurs;
  output.asked = false;
  const isSorry = recurs && apology.test(text);
  const facts = {
    ...(times > 1 && { times }),
    ...(recurs && { recurs }),
    ...(isSorry && { isSorry }),
    ...(asked && { asked }),
  };
  return { type: 'text-observed', similarity, ...facts };
}

/** Forgets an empty text before a call: a turn of calls alone has no text. Returns whether there was one. */
export function dropEmptyText(task: TaskState): boolean {
  const output = task.recentOutput;
  if (output?.words?.length !== 0) return false;
  output.words = undefined;
  return true;
}

/** Records a call for later comparisons, only if the task's texts are observed. */
export function recordCall(task: TaskState, id: string | number, name: string, args: unknown): void {
  const output = task.recentOutput;
  if (output !== undefined)
    pushBounded(output.calls, { id, name, text: argumentsAsText(args), recurs: output.recurs, answered: false });
}

/**
 * The highest similarity of a call to earlier calls of the same tool. Computed only if the text before it or its
 * answer was repeated.
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

/** Records an observed call without a result. */
export function trackCall(task: TaskState, id: string, call: TrackedCall): void {
  const output = recentOutputOf(task);
  output.open ??= new Map();
  evictOldest(output.open, countedIdsMax);
  output.open.set(id, call);
}

/** Returns and removes the call of a result. */
export function takeTrackedCall(task: TaskState, id: unknown): TrackedCall | undefined {
  const call = task.recentOutput?.open?.get(id as string);
  if (call === undefined) return undefined;
  task.recentOutput?.open?.delete(id as string);
  // Some hosts reuse call ids in each turn, so the next call with this id is another call.
  task.counted?.delete(`call:${id}`);
  return call;
}

/** Clears the history after a new prompt of a person. */
export function clearRecentOutput(task: TaskState): void {
  const open = task.recentOutput?.open;
  task.recentOutput = undefined;
  if (open?.size) recentOutputOf(task).open = open;
}

function pushBounded<T>(items: T[], item: T): void {
  items.push(item);
  if (items.length > recentTextsMax) items.shift();
}

/** The compared part of the arguments as text. */
function argumentsAsText(args: unknown): string {
  const parts: string[] = [];
  try {
    collect(args, parts, { left: markLengthMax, visits: collectedValuesMax }, 0);
  } catch {
    return ''; // Unreadable arguments are compared by fingerprint only.
  }
  // Joining copies the text: a slice of a long string would keep the whole string in memory.
  return parts.join(' ');
}

/** The remaining characters, and the remaining visits: a part that is shared is visited once per path. */
interface CollectRoom {
  left: number;
  visits: number;
}

function collect(value: unknown, parts: string[], room: CollectRoom, depth: number): void {
  if (room.left <= 0 || room.visits-- <= 0 || depth > fingerprintDepthMax) return;
  if (typeof value === 'object' && value !== null) {
    // Field names are skipped, because every call of a tool has them. A list is cut before its keys are read.
    if (ArrayBuffer.isView(value)) return;
    const shown = Array.isArray(value) ? value.slice(0, fingerprintEntriesMax) : value;
    const keys = Array.isArray(shown) ? Object.keys(shown) : listKeys(shown);
    for (let at = 0; at < keys.length && at < fingerprintEntriesMax && room.visits > 0; at++) {
      collect((shown as Record<string, unknown>)[keys[at]!], parts, room, depth + 1);
    }
    return;
  }
  const text = typeof value === 'string' ? value.slice(0, room.left) : textOf(value);
  room.left -= text.length + 1;
  parts.push(text, '');
}
