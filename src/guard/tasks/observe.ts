/** Observes events of a task: texts, usage, calls that Switchgear did not decide on, signs of life. Never throws. */

import { evictOldest } from '../../core/bounded.ts';
import { saysNothingFound } from '../../core/controls/loop/effect.ts';
import { markResult } from '../../core/controls/loop/result-mark.ts';
import type { ResultObserved } from '../../core/event.ts';
import { countedIdsMax, nameLengthMax, promptsMax, textLengthMax } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Observation } from '../api.ts';
import { countError } from '../journal/journal.ts';
import { callKey, fingerprint, markEffect } from '../runtime/fingerprint.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { boundedModelName, findUnpricedModel, priceUsage } from './cost.ts';
import { haltUnpriced } from './halt.ts';
import {
  clearRecentOutput,
  compareCall,
  dropEmptyText,
  recentOutputOf,
  recordCall,
  recordText,
  takeTrackedCall,
  trackCall,
} from './recent-output.ts';
import { entryPlace, type TaskState } from './task.ts';
import { applyAndCheck } from './task-events.ts';

export function observe(runtime: Runtime, task: TaskState, observation: Observation): Refusal | undefined {
  try {
    if (!task.ended && task.haltStop === undefined) applyObservation(runtime, task, observation, runtime.clock.nowMs());
  } catch (error) {
    countError(runtime, 'observe', error);
  }
  return task.halt;
}

function applyObservation(runtime: Runtime, task: TaskState, observation: Observation, atMs: number): void {
  const { settings } = runtime;
  switch (observation.type) {
    case 'assistant': {
      const text = boundedText(observation.text);
      if (text.trim() === '' && observation.toolUse === true) {
        // A turn with only tool calls has no text.
        applyAndCheck(runtime, task, { type: 'sign-observed', isAnswer: true }, atMs);
        return;
      }
      const heard = recordText(task, text, settings.loop);
      const { toolUse } = observation;
      applyAndCheck(runtime, task, typeof toolUse === 'boolean' ? { ...heard, calls: toolUse } : heard, atMs);
      return;
    }
    case 'tool_use': {
      const { id, input } = observation;
      if (wasCounted(task, 'call', id)) break;
      const name = boundedText(observation.name).slice(0, nameLengthMax);
      const call = input === undefined ? undefined : (callKey(name, input) ?? fingerprint(name, input));
      if (call !== undefined && id && typeof id === 'string') {
        trackCall(task, id, { name, call, atMs, does: markEffect(name, input) });
        recordCall(task, id, name, input);
      }
      const silent = dropEmptyText(task);
      const seen = { name, ...(call !== undefined && { call }), ...(silent && { silent }) };
      applyAndCheck(runtime, task, { type: 'call-observed', ...seen }, atMs);
      return;
    }
    case 'tool_result': {
      const seen = takeTrackedCall(task, observation.id);
      if (seen === undefined) break; // A guarded call settles itself; the result of an unseen call cannot be compared.
      const { id, output, ok = true, tookMs: reportedMs } = observation;
      const tookMs = Number.isFinite(reportedMs) ? Number(reportedMs) : atMs - seen.atMs;
      const { name, call, does } = seen;
      // A search that found nothing has no result, whatever words say so.
      const isEmptySearch = does?.searches === true && saysNothingFound(output);
      const result = isEmptySearch ? markResult('', true) : markResult(output, ok);
      const likeness = compareCall(task, id, result);
      if (result === undefined) break; // The result is unknown.
      const event: { -readonly [K in keyof ResultObserved]: ResultObserved[K] } = {
        type: 'result-observed',
        atMs,
        name,
        call,
        result,
      };
      if (likeness > 0) event.likeness = likeness;
      if (tookMs > 0) event.tookMs = tookMs;
      if (does?.effect !== undefined) event.effect = does.effect;
      if (does?.edit !== undefined) event.edit = does.edit;
      if (does?.waits === true) event.waits = true;
      applyAndCheck(runtime, task, event, atMs);
      return;
    }
    case 'progress':
      applyAndCheck(runtime, task, { type: 'progress-observed' }, atMs);
      return;
    case 'usage': {
      if (wasCounted(task, 'usage', observation.id)) break;
      const cost = priceUsage(runtime, observation, entryPlace(task), atMs);
      const model = boundedModelName(observation.model);
      applyAndCheck(runtime, task, { type: 'usage-observed', model, cost, basis: model }, atMs);
      const unpriced = findUnpricedModel(runtime, observation);
      if (unpriced !== undefined) haltUnpriced(runtime, task, unpriced, atMs);
      return;
    }
    case 'user': {
      task.prompts ??= new Set();
      const mark = fingerprint('user', boundedText(observation.text));
      if (task.prompts.has(mark)) {
        recentOutputOf(task).asked = true;
        break; // A repeated prompt comes from the harness, not from a person.
      }
      if (task.prompts.size < promptsMax) task.prompts.add(mark);
      clearRecentOutput(task);
      applyAndCheck(runtime, task, { type: 'user-observed' }, atMs);
      return;
    }
    case 'heartbeat':
      break;
  }
  applyAndCheck(runtime, task, { type: 'sign-observed' }, atMs);
}

function boundedText(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, textLengthMax) : '';
}

/** Whether an id was counted before; marks it as counted. */
export function wasCounted(task: TaskState, kind: 'call' | 'usage', id: string | undefined): boolean {
  if (typeof id !== 'string' || id === '') return false; // Hosts without ids pass null or an empty text.
  task.counted ??= new Set();
  const key = `${kind}:${id}`;
  if (task.counted.has(key)) return true;
  evictOldest(task.counted, countedIdsMax);
  task.counted.add(key);
  return false;
}
