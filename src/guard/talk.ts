/** What a task said and asked for lately, kept as numbers: to see words, and calls, that come again. */

import type { TextObserved } from '../core/event.ts';
import { countedIdsMax, markLengthMax, wordsKeptMax } from '../core/limits.ts';
import type { LoopSettings } from '../core/settings.ts';
import { jaccard, likest, tokensOf } from '../core/similarity.ts';
import { makeRoom } from './bounded.ts';
import type { TaskNode } from './task-node.ts';

/** A call that was seen in a stream and has not come back yet. */
export interface SeenCall {
  readonly name: string;
  readonly call: number;
  readonly likeness: number;
}

export interface Talk {
  /** The words of the last text, and of the last ones. */
  words: Int32Array | undefined;
  texts: Int32Array[];
  /** The words of the last calls, by tool. */
  calls: { readonly name: string; readonly words: Int32Array }[];
  /** A prompt that had been seen before came again since the last text. */
  asked: boolean;
  open: Map<string, SeenCall> | undefined;
}

/** Shorter texts, and calls, say too little to be compared. */
const wordsMin = 4;

export function talkOf(task: TaskNode): Talk {
  task.talk ??= { words: undefined, texts: [], calls: [], asked: false, open: undefined };
  return task.talk;
}

/** What is to be known of a text: how alike it is to the one before it, and whether it came before. */
export function hearText(task: TaskNode, text: string, settings: LoopSettings): Omit<TextObserved, 'atMs'> {
  const talk = talkOf(task);
  const words = tokensOf(text, settings.tokenCap);
  const similarity = talk.words === undefined ? -1 : jaccard(talk.words, words);
  const { nearThreshold } = settings;
  const recurs = words.length >= wordsMin && likest(words, talk.texts, nearThreshold) >= nearThreshold;
  if (words.length >= wordsMin) keep(talk.texts, words);
  const { asked } = talk;
  talk.words = words;
  talk.asked = false;
  return { type: 'text-observed', similarity, ...(recurs && { recurs }), ...(asked && { asked }) };
}

/** How alike a call is to the likest of the last calls of its tool; only where texts are heard, too. */
export function likenessOf(task: TaskNode, name: string, args: unknown): number {
  const talk = task.talk;
  if (talk === undefined) return 0;
  const words = tokensOf(textOf(args), undefined, true);
  const others = talk.calls.filter((call) => call.name === name).map((call) => call.words);
  const likeness = words.length < wordsMin ? 0 : likest(words, others, 0);
  keep(talk.calls, { name, words });
  return likeness;
}

/** A call was seen whose result is yet to come. */
export function openCall(task: TaskNode, id: string, call: SeenCall): void {
  const talk = talkOf(task);
  talk.open ??= new Map();
  makeRoom(talk.open, countedIdsMax);
  talk.open.set(id, call);
}

/** The call that a result belongs to, once. */
export function closeCall(task: TaskNode, id: unknown): SeenCall | undefined {
  const call = task.talk?.open?.get(id as string);
  if (call === undefined) return undefined;
  task.talk?.open?.delete(id as string);
  task.counted?.delete(`call:${id}`); // Some hosts number their calls anew each turn: the next one is another.
  return call;
}

/** Genuinely new words of a person: what was said before is no measure for what comes. */
export function forgetTalk(task: TaskNode): void {
  const open = task.talk?.open;
  task.talk = undefined;
  if (open?.size) talkOf(task).open = open;
}

function keep<T>(kept: T[], item: T): void {
  kept.push(item);
  if (kept.length > wordsKeptMax) kept.shift();
}

/** Arguments as text, as far as they are compared. */
function textOf(args: unknown): string {
  if (typeof args === 'string') return args.slice(0, markLengthMax);
  try {
    return (JSON.stringify(args) ?? '').slice(0, markLengthMax);
  } catch {
    return ''; // A cycle, a bigint, a getter that throws: it is compared by its fingerprint alone.
  }
}
