/** What a task is told from outside: words, usage, calls that others let through, signs of life. It never throws. */

import { countedIdsMax, promptsMax, textLengthMax } from '../core/limits.ts';
import type { Refusal } from '../core/refusal.ts';
import { jaccard, tokensOf } from '../core/similarity.ts';
import type { Clock } from '../ports/clock.ts';
import { fingerprint } from './fingerprint.ts';
import type { Observation } from './front-door.ts';
import type { Guard } from './guard.ts';
import type { Notebook } from './notebook.ts';
import type { Spending } from './spending.ts';
import type { TaskNode } from './task-node.ts';

export interface Observing {
  readonly clock: Clock;
  readonly guard: Guard;
  readonly notes: Notebook;
  readonly spending: Spending;
  readonly tokenCap: () => number;
}

export function observe(observing: Observing, task: TaskNode, observation: Observation): Refusal | undefined {
  const atMs = observing.clock.nowMs();
  try {
    if (!task.ended && task.haltStop === undefined) take(observing, task, observation, atMs);
  } catch (error) {
    observing.notes.countError('observe', error, atMs);
  }
  return task.halt;
}

function take(observing: Observing, task: TaskNode, observation: Observation, atMs: number): void {
  const { guard, notes, spending } = observing;
  const place = { task: task.id, session: task.session, agent: task.agent };
  switch (observation.type) {
    case 'assistant': {
      const text = textOf(observation.text);
      if (text.trim() === '' && observation.toolUse === true) break; // A turn that only calls tools says nothing.
      const words = tokensOf(text, observing.tokenCap());
      const similarity = task.words === undefined ? -1 : jaccard(task.words, words);
      task.words = words;
      notes.write({ type: 'text-observed', similarity }, place, atMs);
      guard.tell(task, { type: 'text-observed', atMs, similarity }, atMs);
      return;
    }
    case 'tool_use': {
      if (isKnown(task, 'call', observation.id)) break;
      const name = String(observation.name).slice(0, 256);
      notes.write({ type: 'call-observed', name }, place, atMs);
      guard.tell(task, { type: 'call-observed', atMs, name }, atMs);
      return;
    }
    case 'usage': {
      if (isKnown(task, 'usage', observation.id)) break;
      const cost = spending.costOf(observation, place, atMs);
      const model = String(observation.model ?? '').slice(0, 256);
      guard.spend(task, cost, model, atMs);
      if (spending.haltsOn(observation)) haltUnpriced(guard, task, model, atMs);
      return;
    }
    case 'user': {
      const text = textOf(observation.text);
      task.prompts ??= new Set();
      const mark = fingerprint('user', text);
      if (task.prompts.has(mark)) break; // A harness that says the same again is no person.
      if (task.prompts.size < promptsMax) task.prompts.add(mark);
      task.words = undefined;
      notes.write({ type: 'user-observed' }, place, atMs);
      guard.tell(task, { type: 'user-observed', atMs }, atMs);
      return;
    }
    case 'heartbeat':
      break;
  }
  notes.write({ type: 'sign-observed' }, place, atMs);
  guard.tell(task, { type: 'sign-observed', atMs }, atMs);
}

function textOf(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, textLengthMax) : '';
}

/** Whether an id was counted before, by whomever; it is from now on. */
export function isKnown(task: TaskNode, kind: 'call' | 'usage', id: string | undefined): boolean {
  if (typeof id !== 'string' || id === '') return false; // Hosts write null or nothing where they have no id.
  task.counted ??= new Set();
  const key = `${kind}:${id}`;
  if (task.counted.has(key)) return true;
  if (task.counted.size >= countedIdsMax) task.counted.delete(task.counted.values().next().value!);
  task.counted.add(key);
  return false;
}

function haltUnpriced(guard: Guard, task: TaskNode, model: string, atMs: number): void {
  const counters = { actual: 'unknown', limit: task.limits.maxSpendCents, model };
  guard.halt(task, { kind: 'halt', code: 'token_spend_limit', control: 'budget', counters }, model, atMs);
}
