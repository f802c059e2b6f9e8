/** The tasks of a gateway that serves one run: every request belongs to the run, whatever ids it claims. */

import { timingSafeEqual } from 'node:crypto';
import { secsMax } from '../core/limits.ts';
import type { Refusal } from '../core/refusal.ts';
import { endTask, halt, type Runtime, startTask, type TaskState } from '../guard/internal.ts';
import { HttpError } from '../http/http-error.ts';
import type { GatewayTasks, Watching } from './gateway-tasks.ts';
import { runTasksMax } from './limits.ts';
import type { TaskIdentity } from './task-identity.ts';

/** The run that a gateway serves. */
export interface GatewayRun {
  /** The secret in the path of every request: `/run/TOKEN`. */
  readonly token: string;
  /** The task of the run; a promise before it has started. */
  task(): TaskState | Promise<TaskState>;
  /** Why the run ends; every request is then answered with a closing text. */
  ending(): Refusal | undefined;
  /** Called at every model call of the run. */
  onCall(): void;
  /** A sign of life: a part of an answer has passed. */
  onSign(): void;
  /** How the calls of tools in a conversation are watched, beside what the run sees of them. */
  watching(isFirstConversation: boolean): Watching;
  dismissCard(id: string): void;
}

/** The path of a request behind the token of the run; an error if the token is another one. */
export function takeRunPath({ token }: GatewayRun, url: string): string {
  const [, given = '', rest = ''] = /^\/run\/([^/?]+)(\/.*)$/.exec(url) ?? [];
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  if (a.length === b.length && timingSafeEqual(a, b)) return rest;
  throw new HttpError(403, 'wrong_token', 'Switchgear: this gateway serves one run, and the path has another token');
}

/**
 * Creates the tasks of a run. The first conversation of the agent is the run itself; another one, such as that of a
 * subagent or of a nested agent, is a task below it, which the run pays for.
 */
export function createRunTasks(runtime: Runtime, run: GatewayRun): GatewayTasks & { endAll(): void } {
  const below = new Map<string, TaskState>();
  let mainId: string | undefined;
  let firstConversation: string | undefined;

  function open(id: string, agent: string, parent: TaskState): TaskState {
    const known = below.get(id);
    if (known !== undefined && !known.ended) return known;
    if (below.size >= runTasksMax) return parent;
    // The clocks are those of the run.
    const limits = { maxDurationSecs: secsMax, maxIdleSecs: secsMax };
    const task = startTask(runtime, { id, agent, parent: parent.id, session: parent.session, limits }, undefined);
    below.set(id, task);
    return task;
  }

  function place(root: TaskState, { id, parent, agent, isNamed }: TaskIdentity): TaskState {
    if (!isNamed) return root;
    mainId ??= parent ?? id;
    if (id === mainId) return root;
    const above = parent === undefined || parent === mainId ? root : open(nameBelow(root, parent), agent, root);
    return open(nameBelow(root, id), agent, above);
  }

  return {
    find(identity) {
      const root = run.task();
      return root instanceof Promise ? root.then((started) => place(started, identity)) : place(root, identity);
    },
    watching(name) {
      firstConversation ??= name;
      return run.watching(name === firstConversation);
    },
    findConversation: (task, name) => open(`${task.id}~${name}`, task.agent, task),
    endConversation(task, conversation) {
      const { haltStop, card } = conversation;
      // Only a subagent has a task of its own, and ends alone.
      if (haltStop === undefined || task.parent !== undefined) return;
      halt(runtime, task, haltStop, task.agent, runtime.clock.nowMs());
      if (card !== undefined) run.dismissCard(card); // The run has a card of its own.
    },
    endAll() {
      for (const task of [...below.values()].reverse()) endTask(runtime, task);
      below.clear();
    },
  };
}

/** The id of a task below the run. */
function nameBelow(root: TaskState, id: string): string {
  return `${root.id.slice(0, 60)}/${id}`;
}
