/** The public handle of a task, kept small so that a hundred thousand idle tasks cost little. */

import type { Refusal } from '../../core/refusal.ts';
import type { Observation, Task, TaskSnapshot } from '../api.ts';
import { runInside } from '../runtime/async-context.ts';
import { fn as isFunction } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { observe } from './observe.ts';
import { signalOf, type TaskState } from './task.ts';
import { endTask, pauseTask, resumeTask, snapshotTask } from './task-tree.ts';

export function taskHandle(runtime: Runtime, node: TaskState): Task {
  node.handle ??= new TaskHandle(runtime, node);
  return node.handle;
}

class TaskHandle implements Task {
  readonly #runtime: Runtime;
  readonly #node: TaskState;

  constructor(runtime: Runtime, node: TaskState) {
    this.#runtime = runtime;
    this.#node = node;
  }

  get id(): string {
    return this.#node.id;
  }

  get agent(): string {
    return this.#node.agent;
  }

  get session(): string {
    return this.#node.session;
  }

  get parent(): string | undefined {
    return this.#node.parent?.id;
  }

  get signal(): AbortSignal {
    return signalOf(this.#node);
  }

  get halt(): Refusal | undefined {
    return this.#node.halt;
  }

  observe(observation: Observation): Refusal | undefined {
    return observe(this.#runtime, this.#node, observation);
  }

  hint(): string | undefined {
    const { loopHint: note } = this.#node;
    this.#node.loopHint = undefined;
    return note;
  }

  run<T>(fn: () => T): T {
    isFunction('the function to run', fn);
    return runInside(this.#runtime, this.#node, fn);
  }

  pause(): void {
    pauseTask(this.#runtime, this.#node);
  }

  resume(): void {
    resumeTask(this.#runtime, this.#node);
  }

  end(how?: 'done' | 'error'): void {
    endTask(this.#runtime, this.#node, how);
  }

  snapshot(): TaskSnapshot {
    return snapshotTask(this.#runtime, this.#node, this.#runtime.clock.nowMs());
  }

  [Symbol.dispose](): void {
    this.end();
  }
}
