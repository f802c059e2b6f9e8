/** A task as its user holds it: thin, so that a hundred thousand idle ones cost little. */

import type { Refusal } from '../core/refusal.ts';
import * as check from './arguments.ts';
import type { Observation, Task, TaskSnapshot } from './front-door.ts';
import type { TaskHost } from './task-host.ts';
import type { TaskNode } from './task-node.ts';
import { signalOf, snapshotTask } from './tasks.ts';

export function faceOf(host: TaskHost, node: TaskNode): Task {
  node.face ??= new TaskFace(host, node);
  return node.face;
}

class TaskFace implements Task {
  readonly #host: TaskHost;
  readonly #node: TaskNode;

  constructor(host: TaskHost, node: TaskNode) {
    this.#host = host;
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
    return this.#host.observe(this.#node, observation);
  }

  run<T>(fn: () => T): T {
    check.fn('the function to run', fn);
    return this.#host.run(this.#node, fn);
  }

  pause(): void {
    this.#host.pause(this.#node);
  }

  resume(): void {
    this.#host.resume(this.#node);
  }

  end(how: 'done' | 'error' = 'done'): void {
    this.#host.end(this.#node, how);
  }

  snapshot(): TaskSnapshot {
    return snapshotTask(this.#node, this.#host.nowMs());
  }

  [Symbol.dispose](): void {
    this.end();
  }
}
