/** What a task's face asks of its gear: telling, running, standing still, ending. */

import type { Refusal } from '../core/refusal.ts';
import type { Breakers } from './breakers.ts';
import { runInside } from './context.ts';
import type { Observation } from './front-door.ts';
import { signOf } from './halting.ts';
import { type Observing, observe } from './observing.ts';
import { placeOf, type TaskNode } from './task-node.ts';
import type { Tasks } from './tasks.ts';

export interface TaskHost {
  observe(node: TaskNode, observation: Observation): Refusal | undefined;
  run<T>(node: TaskNode, fn: () => T): T;
  pause(node: TaskNode): void;
  resume(node: TaskNode): void;
  end(node: TaskNode, how: 'done' | 'error'): void;
  nowMs(): number;
}

export interface TaskHostOptions extends Observing {
  readonly gear: object;
  readonly tasks: Tasks;
  readonly breakers: Breakers;
}

export function taskHost(options: TaskHostOptions): TaskHost {
  const { gear, clock, guard, notes, tasks, breakers } = options;

  function standStill(node: TaskNode, type: 'task-stopped' | 'task-resumed'): void {
    const atMs = clock.nowMs();
    guard.tell(node, { type, atMs }, atMs);
    notes.write({ type }, placeOf(node), atMs);
  }

  function resume(node: TaskNode): void {
    if (node.pauses === 0) return; // Somebody else's pause is not this one's to end.
    node.pauses--;
    standStill(node, 'task-resumed');
  }

  /** What a task holds is let go before it ends: those above it do not stand still for its pauses. */
  function leave(node: TaskNode): void {
    for (const child of node.children ?? []) leave(child);
    while (node.pauses > 0) resume(node);
    breakers.dropTask(node.id);
  }

  return {
    observe: (node, observation) => observe(options, node, observation),
    run: (node, fn) => runInside(gear, node, undefined, fn),
    pause(node) {
      if (node.ended) return;
      node.pauses++;
      standStill(node, 'task-stopped');
    },
    resume,
    end(node, how) {
      const first = !node.ended;
      leave(node);
      tasks.end(node, how);
      if (first && node.parent !== undefined) signOf(notes, node.parent, clock.nowMs());
    },
    nowMs: () => clock.nowMs(),
  };
}
