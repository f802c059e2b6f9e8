/** How a task is ended by a control, once and with all below it, and how it is told that it is on its way there. */

import { applyAll } from '../core/decide.ts';
import { actionsFor, explain } from '../core/explain.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Stop } from '../core/verdict.ts';
import type { Cards } from './cards.ts';
import type { Notebook } from './notebook.ts';
import { placeOf, seatsOf, type TaskNode } from './task-node.ts';

export interface HaltingOptions {
  readonly notes: Notebook;
  readonly cards: Cards;
  readonly observes: () => boolean;
  /** Told of every task that was halted. */
  readonly onHalt: (task: TaskNode) => void;
}

export interface Halting {
  halt(task: TaskNode, stop: Stop, name: string, atMs: number): void;
  notice(task: TaskNode, atMs: number): void;
}

export function createHalting({ notes, cards, observes, onHalt }: HaltingOptions): Halting {
  /** Ends a task and everything below it; never its parent. */
  function halt(task: TaskNode, stop: Stop, name: string, atMs: number): void {
    let ended = task;
    if (stop.ends === 'root') ended = task.root;
    else while (stop.ends !== undefined && ended.id !== stop.ends && ended.parent !== undefined) ended = ended.parent;
    if (ended.haltStop !== undefined || ended.ended) return; // What is over cannot be ended again.
    if (stop.code === 'idle_timeout' && hasLivingChild(ended)) return; // Not idle while one below it is not.
    const place = placeOf(ended);
    const refusal = explain(stop, { name, agent: ended.agent, task: ended.id, atMs });
    if (observes()) {
      ended.reported ??= new Set();
      if (ended.reported.has(stop.code)) return;
      ended.reported.add(stop.code);
      notes.write({ type: 'task-halted', stop, message: refusal.explanation, enforced: false }, place, atMs);
      return;
    }
    latch(ended, stop, refusal, undefined, atMs);
    if (ended.parent !== undefined) signOf(notes, ended.parent, atMs);
    const { code, counters } = stop;
    const evidence = [refusal.explanation];
    cards.open({ kind: 'halt', task: ended.id, code, counters, evidence, actions: actionsFor(code) }, ended, atMs);
  }

  function latch(task: TaskNode, stop: Stop, refusal: Refusal, cause: string | undefined, atMs: number): void {
    if (task.haltStop !== undefined) return;
    task.haltStop = stop;
    task.halt = refusal;
    const body = { type: 'task-halted', stop, message: refusal.explanation, enforced: true } as const;
    notes.write(cause === undefined ? body : { ...body, cause }, placeOf(task), atMs);
    for (const child of task.children ?? []) latch(child, stop, refusal, cause ?? task.id, atMs);
    onHalt(task);
    const ending = task.ending;
    task.ending = undefined;
    for (const end of ending ?? []) {
      try {
        end();
      } catch (error) {
        notes.countError('signal', error, atMs);
      }
    }
  }

  /** Says once that a task is on its way to a limit. */
  function notice(task: TaskNode, atMs: number): void {
    const seats = seatsOf(task);
    for (let at = 0; at < task.ownSeats; at++) {
      const { control, cell } = seats[at]!;
      for (const gauge of control.gauges?.(cell.state, atMs) ?? []) {
        if (gauge.actual < gauge.limit * task.limits.noticeShare || task.noticed?.has(gauge.name)) continue;
        task.noticed ??= new Set();
        task.noticed.add(gauge.name);
        const message = `${task.agent}: ${gauge.name.replaceAll('_', ' ')}: ${round(gauge.actual)} of ${gauge.limit}`;
        notes.write({ type: 'notice', gauge, message }, placeOf(task), atMs);
        const counters = { actual: round(gauge.actual), limit: gauge.limit };
        const actions = ['pause', 'dismiss'] as const;
        cards.open(
          { kind: 'notice', task: task.id, code: 'notice', counters, evidence: [message], actions },
          task,
          atMs,
        );
      }
    }
    if (task.noticed?.has('tool_calls')) task.noticeCalls = Number.POSITIVE_INFINITY;
  }

  return { halt, notice };
}

/** A child that is silent for too long is halted itself, so one that is not halted is not idle. */
function hasLivingChild({ children }: TaskNode): boolean {
  for (const child of children ?? []) {
    if (child.haltStop === undefined && !child.reported?.has('idle_timeout')) return true;
  }
  return false;
}

/** A child that ends or is halted is a sign of life to its parent, which now has to go on without it. */
export function signOf(notes: Notebook, task: TaskNode, atMs: number): void {
  if (task.haltStop !== undefined || task.ended) return;
  notes.write({ type: 'sign-observed' }, placeOf(task), atMs);
  applyAll(seatsOf(task), { type: 'sign-observed', atMs });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
