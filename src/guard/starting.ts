/** Starts a task: checked, placed in the tree, with the limits of its agent and its own. */

import { SwitchgearError } from '../core/error.ts';
import { checkPart } from '../core/part.ts';
import { quoted } from '../core/quoted.ts';
import { resolveTask } from '../policy/resolve.ts';
import * as check from './arguments.ts';
import { haltedByHand } from './by-hand.ts';
import type { TaskOptions } from './front-door.ts';
import type { TaskNode } from './task-node.ts';
import type { Works } from './works.ts';

const optionNames = ['id', 'agent', 'session', 'parent', 'limits', 'signal', 'retryOf'];

export function startNode(
  works: Works,
  given: TaskOptions & { readonly retryOf?: string },
  around: TaskNode | undefined,
): TaskNode {
  const { settings, tasks, guard, clock } = works;
  check.options('task options', given, optionNames);
  const { signal } = given;
  if (signal !== undefined) check.methods('signal', signal, ['addEventListener', 'removeEventListener']);
  const limits = given.limits === undefined ? undefined : checkPart(settings.task, given.limits, 'limits');
  const parent = parentOf(works, given, around);
  const name = given.agent === undefined ? (parent?.agent ?? works.agent) : check.name('agent', given.agent);
  const before = given.retryOf === undefined ? undefined : works.halted.get(given.retryOf);
  const node = tasks.start({
    id: given.id === undefined ? `t-${works.session}-${works.nextId()}` : check.name('id', given.id),
    agent: name,
    session: given.session === undefined ? (parent?.session ?? works.session) : check.name('session', given.session),
    parent,
    limits: resolveTask(settings, name, limits),
    said: limits,
    ...(before === undefined ? {} : { retryOf: before.id, raises: before.raises + 1, carried: before }),
  });
  if (signal !== undefined) {
    const abort = () => guard.halt(node, haltedByHand('the caller cancelled it'), 'signal', clock.nowMs());
    if (signal.aborted) abort();
    else {
      signal.addEventListener('abort', abort, { once: true });
      node.letGo = () => signal.removeEventListener('abort', abort); // A signal may outlive many tasks.
    }
  }
  return node;
}

/** The nearest task that has not ended: below one that has, a task would be out of reach when those above halt. */
function living(around: TaskNode | undefined): TaskNode | undefined {
  let parent = around;
  while (parent?.ended && parent.parent !== undefined) parent = parent.parent;
  return parent;
}

function parentOf({ tasks }: Works, given: TaskOptions, around: TaskNode | undefined): TaskNode | undefined {
  if (given.parent === undefined) return living(around);
  if (given.parent === null) return undefined;
  const parent = tasks.find(given.parent);
  if (parent === undefined) {
    throw new SwitchgearError('unknown_task', `no task with the id ${quoted(given.parent)} is running`);
  }
  return parent;
}
