/** Halts a task with its descendants, once, and writes notices before a limit is reached. */

import { evictOldest } from '../../core/bounded.ts';
import type { Card } from '../../core/card.ts';
import { findNoticeShare } from '../../core/controls/budget/notice-share.ts';
import { adviseOnRepeat, describeRepeat, nameSetting } from '../../core/controls/loop/messages.ts';
import { sumPoints } from '../../core/controls/loop/turns.ts';
import { haltedTasksMax, reasonLengthMax, secsMax } from '../../core/limits.ts';
import { explain, listCardActions } from '../../core/messages/explain.ts';
import { quoteValue } from '../../core/quote.ts';
import type { Refusal } from '../../core/refusal.ts';
import { haltOverLimit, type Stop } from '../../core/verdict.ts';
import { appendEntry, countError } from '../journal/journal.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { createCardId, openCard } from './cards.ts';
import { findRaise } from './raised-limit.ts';
import { boundControlsOf, entryPlace, type TaskState } from './task.ts';
import { applyEvent } from './task-events.ts';

/** Halts a task and its descendants, never its parent. */
export function halt(runtime: Runtime, task: TaskState, stop: Stop, name: string, atMs: number): void {
  const { ends, code, counters } = stop;
  let ended = task;
  while (ends && (ends === 'root' || ended.id !== ends) && ended.parent !== undefined) ended = ended.parent;
  if (ended.haltStop !== undefined || ended.ended) return; // The task has already ended.
  if (code === 'idle_timeout' && hasLivingChild(ended)) return; // A task is not idle while a descendant is active.
  const { id, agent, parent } = ended;
  const refusal = explain(stop, { name, agent, task: id, atMs });
  if (isObserving(runtime)) {
    if (isNews(ended, code)) {
      appendEntry(
        runtime,
        { type: 'task-halted', stop, message: refusal.explanation, enforced: false },
        entryPlace(ended),
        atMs,
      );
    }
    return;
  }
  const told = code === 'cancelled' ? withReason(refusal, ended.cancelReason) : refusal;
  latch(runtime, ended, stop, told, undefined, atMs);
  runtime.timeouts.endHalted();
  if (parent !== undefined) touchParent(runtime, parent, atMs);
  if (code === 'cancelled') return; // The program cancelled the task itself, so it gets no card.
  const actions = ended.haltActions ?? runtime.haltActions ?? listCardActions(code);
  const { raise } = (actions.includes('retry_raised') && findRaise(ended, stop)) || {};
  const card: Card = {
    id: createCardId(runtime),
    kind: 'halt',
    task: id,
    code,
    counters,
    evidence: [refusal.explanation],
    actions,
    state: 'open',
    ...(raise && { raise }),
  };
  ended.card = card.id;
  openCard(runtime, card, ended, atMs);
}

/** Halts a task whose spend cannot be counted, because the price of a model is unknown. */
export function haltUnpriced(runtime: Runtime, task: TaskState, model: string, atMs: number): void {
  const stop = haltOverLimit('budget', 'token_spend_limit', 'unknown', task.limits.maxSpendCents);
  halt(runtime, task, { ...stop, counters: { ...stop.counters, model } }, model, atMs);
}

/** Halts a task, or every task, by order of a person. */
export function haltByOperator(runtime: Runtime, tasks: Iterable<TaskState>, reasonGiven: string): void {
  const reason = typeof reasonGiven === 'string' ? reasonGiven.slice(0, reasonLengthMax) : quoteValue(reasonGiven);
  const stop: Stop = { kind: 'halt', code: 'operator_halt', control: 'operator', counters: {}, reason };
  for (const task of [...tasks]) halt(runtime, task, stop, 'operator', runtime.clock.nowMs());
}

/**
 * Halts a task whose signal was aborted. The reason of the signal goes to the caller and to the signals of the task;
 * the journal does not have it.
 */
export function cancelTask(runtime: Runtime, task: TaskState, reason: unknown): void {
  const stop: Stop = { kind: 'halt', code: 'cancelled', control: 'operator', counters: {} };
  passReason(task, reason);
  halt(runtime, task, stop, 'signal', runtime.clock.nowMs());
}

function passReason(task: TaskState, reason: unknown): void {
  if (task.haltStop !== undefined) return;
  task.cancelReason = reason;
  for (const child of task.children ?? []) passReason(child, reason);
}

/** The refusal of a cancelled task with the caller's reason, if it is a text or an error of the caller's own. */
function withReason(refusal: Refusal, reason: unknown): Refusal {
  const text = typeof reason === 'string' ? reason : reason instanceof Error ? reason.message : '';
  const isOwn = text !== '' && (reason as { readonly name?: unknown }).name !== 'AbortError';
  return isOwn ? { ...refusal, message: `${refusal.message}: ${text.slice(0, reasonLengthMax)}` } : refusal;
}

function latch(
  runtime: Runtime,
  task: TaskState,
  stop: Stop,
  refusal: Refusal,
  cause: string | undefined,
  atMs: number,
): void {
  if (task.haltStop !== undefined) return;
  task.haltStop = stop;
  task.halt = refusal;
  const body = { type: 'task-halted', stop, message: refusal.explanation, enforced: true } as const;
  appendEntry(runtime, cause === undefined ? body : { ...body, cause }, entryPlace(task), atMs);
  for (const child of task.children ?? []) latch(runtime, child, stop, refusal, cause ?? task.id, atMs);
  evictOldest(runtime.halted, haltedTasksMax);
  runtime.halted.set(task.id, task);
  const ending = task.ending;
  const listeners = ending?.size ?? 0;
  task.ending = undefined;
  ending?.forEach((end) => {
    try {
      end(listeners);
    } catch (error) {
      countError(runtime, 'signal', error);
    }
  });
}

/** Limits of which a person is told twice: at `notice_share` and at 95 %. */
const twiceNoticed: ReadonlySet<string> = new Set(['spend_cents', 'tokens', 'model_calls']);

/** Writes a notice once when a task is close to a limit, and once more when it is at 95 % of some limits. */
export function warnNearLimit(runtime: Runtime, task: TaskState, atMs: number): void {
  for (const { control, cell, cellOwner } of boundControlsOf(runtime, task)) {
    if (cellOwner !== 'self') break; // Ancestors get their own notices.
    for (const gauge of control.gauges?.(cell.state, atMs) ?? []) {
      const { name, limit } = gauge;
      const { noticeShare } = task.limits;
      const share = findNoticeShare(gauge, noticeShare, twiceNoticed.has(name));
      const isFirst = share !== undefined && isNews(task, name);
      const isHigh = share !== undefined && share > noticeShare && isNews(task, `${name} ${share}`);
      if (!isFirst && !isHigh) continue;
      const actual = Math.round(gauge.actual * 100) / 100;
      const end = isHigh ? ', almost used up' : '';
      const message = `${task.agent}: ${name.replaceAll('_', ' ')}: ${actual} of ${limit}${end}`;
      appendEntry(runtime, { type: 'notice', gauge, message }, entryPlace(task), atMs);
      const counters = { actual, limit };
      openNotice(runtime, task, { counters, evidence: [message], ...(isHigh && { risk: 'medium' }) }, atMs);
    }
  }
  if (task.noticed?.has('tool_calls')) task.noticeCalls = Number.POSITIVE_INFINITY;
}

/** Writes the notices of a task and of the tasks above it, which pay for it, after a call. */
export function warnPayersNearLimit(runtime: Runtime, task: TaskState): void {
  const atMs = runtime.clock.nowMs();
  for (let each: TaskState | undefined = task; each !== undefined; each = each.parent)
    if (each.haltStop === undefined && !each.ended) warnNearLimit(runtime, each, atMs);
}

/**
 * Sets a hint for the model about a suspected loop, once, before a call is refused; again if the agent made progress
 * in between. A strong suspicion is a card as well, which holds nothing.
 */
export function hintLoop(runtime: Runtime, task: TaskState, atMs: number): void {
  const { loop } = task.cells;
  const counters = loop && task.controls.loop?.hint?.(loop.state)?.counters;
  if (counters === undefined) {
    const memory = loop?.state.memory ?? null;
    if (memory !== null && sumPoints(memory) >= runtime.settings.loop.notePoints) return;
    task.suspected = false;
    task.loopHint = undefined; // The agent made progress before it got the hint.
    return;
  }
  const message = `${describeRepeat(counters)}; ${nameSetting(counters)}`;
  if (!task.suspected) {
    task.suspected = true;
    task.loopHint = `${describeRepeat(counters)}. ${adviseOnRepeat(counters)}`;
    if (task.isCountedElsewhere !== true)
      appendEntry(runtime, { type: 'loop-suspected', counters, message }, entryPlace(task), atMs);
  }
  if (counters.strong !== 1 || task.isCountedElsewhere === true || !isNews(task, 'loop')) return;
  openNotice(runtime, task, { counters, evidence: [`${task.agent}: ${message}`] }, atMs);
}

/** Opens a card that only tells something. */
export function openNotice(
  runtime: Runtime,
  task: TaskState,
  { counters, evidence, risk }: Pick<Card, 'counters' | 'evidence' | 'risk'>,
  atMs: number,
): void {
  const card: Card = {
    id: createCardId(runtime),
    kind: 'notice',
    task: task.id,
    code: 'notice',
    counters,
    evidence,
    actions: ['pause', 'dismiss'],
    state: 'open',
    ...(risk && { risk }),
  };
  openCard(runtime, card, task, atMs);
}

/** Whether a report about a task is made for the first time. */
function isNews(task: TaskState, what: string): boolean {
  task.noticed ??= new Set();
  return task.noticed.size < task.noticed.add(what).size;
}

/**
 * Whether a task has an active child. An idle child would be halted itself, so a child that is not halted is active,
 * unless it may be silent for ever.
 */
function hasLivingChild({ children }: TaskState): boolean {
  return [...(children ?? [])].some(
    ({ haltStop, noticed, limits }) =>
      haltStop === undefined && !noticed?.has('idle_timeout') && limits.maxIdleSecs < secsMax,
  );
}

/** Counts the end of a child as a sign of life of its parent. */
export function touchParent(runtime: Runtime, task: TaskState, atMs: number): void {
  if (task.haltStop === undefined && !task.ended) applyEvent(runtime, task, { type: 'sign-observed' }, atMs);
}
