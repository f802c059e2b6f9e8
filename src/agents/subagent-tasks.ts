/** The subagents of a run as child tasks: begun, found by their ids, and ended, with how they came back booked once. */

import { workersMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import { book } from '../guard/delegate.ts';
import { fingerprint } from '../guard/fingerprint.ts';
import type { Switchgear, Task } from '../guard/front-door.ts';
import { laneOf, targetFor } from '../guard/lanes.ts';
import type { TaskNode } from '../guard/task-node.ts';
import type { Works } from '../guard/works.ts';
import type { SubagentEndedEvent, SubagentStartedEvent } from './agent-event.ts';
import { nameOf } from './reader.ts';

/** A subagent, and what is known of it. */
interface Subagent {
  readonly task: Task;
  readonly node: TaskNode;
  /** The subagent that sent it, if it was one. */
  readonly above: Subagent | undefined;
  readonly parentNode: TaskNode;
  readonly worker: string;
  /** Told of under one id, and of what it does under another, if at all. */
  readonly hidden: boolean;
  over: boolean;
}

export interface SubagentTasks {
  /** The task that an event of an agent belongs to: its own, its parent's once it is over, the run's if unknown. */
  taskOf(agent: string | undefined): Task;
  start(event: SubagentStartedEvent): Stop | undefined;
  end(event: SubagentEndedEvent): void;
  /** Ends those that are still out: nobody will tell. */
  endAll(): void;
  /** Those that are out. */
  out(): readonly Task[];
  readonly tasks: readonly Task[];
}

/** Names that say nothing of what a worker is for: each errand is a worker of its own. */
const catchAlls = new Set(['general-purpose', 'default', 'claude', 'general']);

export function subagentTasks(
  gear: Switchgear,
  works: Works,
  root: Task,
  rootNode: TaskNode,
  born: (task: Task) => void,
): SubagentTasks {
  const known = new Map<string, Subagent>();
  /** Other ids of hidden subagents. */
  const aliases = new Map<string, string>();

  function begin({ id, name, prompt, parent: sender, hidden = false }: SubagentStartedEvent): Subagent | undefined {
    const above = sender === undefined ? undefined : living(known.get(sender));
    const parentNode = above?.node ?? rootNode;
    if (known.size >= workersMax) forget();
    if (known.size >= workersMax || parentNode.ended) return undefined;
    const agent = nameOf(name ?? 'subagent');
    const task = gear.startTask({
      id: freeId(`${root.id.slice(0, 100)}/${nameOf(id)}`),
      agent,
      parent: parentNode.id,
      session: root.session,
    });
    const node = works.tasks.get(task.id);
    if (node === undefined) return undefined;
    const subagent = { task, node, above, parentNode, worker: workerOf(name, prompt), hidden, over: false };
    known.set(id, subagent);
    born(task);
    return subagent;
  }

  function freeId(wanted: string): string {
    let id = wanted;
    for (let round = 2; works.tasks.has(id); round++) id = `${wanted}#${round}`;
    return id;
  }

  /** The first that is over is not asked about any more. */
  function forget(): void {
    for (const [id, { over }] of known) {
      if (!over) continue;
      known.delete(id);
      return;
    }
  }

  /** An id that nobody told of belongs to the first hidden subagent that has no other id yet. */
  function adopt(agent: string): Subagent | undefined {
    const taken = new Set(aliases.values());
    const found = [...known].find(([id, { hidden, over }]) => hidden && !over && !taken.has(id));
    if (found === undefined || aliases.size >= workersMax) return undefined;
    aliases.set(agent, found[0]);
    return found[1];
  }

  function finish(subagent: Subagent, ok: boolean, reason: string): void {
    if (subagent.over) return;
    subagent.over = true;
    const { task, node, parentNode, worker } = subagent;
    const halted = node.haltStop !== undefined;
    task.end(ok && !halted ? 'done' : 'error');
    if (parentNode.haltStop !== undefined) return; // It ended along with those above it, and has not failed.
    const lane = laneOf(works, targetFor(works, worker, 'delegation'), parentNode);
    book(works, lane, node, { failed: !ok || halted, reason: halted ? (node.halt?.message ?? reason) : reason });
  }

  return {
    taskOf(agent) {
      if (agent === undefined) return root;
      return living(known.get(aliases.get(agent) ?? agent) ?? adopt(agent))?.task ?? root;
    },
    start(event) {
      const before = known.get(event.id);
      if (before?.over === false) return undefined;
      const subagent = begin(event);
      if (subagent === undefined) return undefined;
      // One that failed too often before must not be sent again.
      const { panel } = laneOf(works, targetFor(works, subagent.worker, 'delegation'), subagent.parentNode);
      const seat = panel.find(({ control }) => control.name === 'delegation');
      const due = seat?.control.check?.(seat.cell.state, works.clock.nowMs());
      return due?.kind === 'halt' ? due : undefined;
    },
    end({ id, ok, reason = ok ? '' : 'it failed' }) {
      const subagent = known.get(id);
      if (subagent !== undefined) finish(subagent, ok, reason);
    },
    endAll() {
      for (const subagent of known.values()) {
        if (subagent.over) continue;
        subagent.over = true;
        subagent.task.end('error');
      }
    },
    out: () => [...known.values()].flatMap(({ over, task }) => (over ? [] : [task])),
    get tasks() {
      return [...known.values()].map(({ task }) => task);
    },
  };
}

/** It, or the nearest above it that is not over; undefined is the run itself. */
function living(subagent: Subagent | undefined): Subagent | undefined {
  let found = subagent;
  while (found?.over) found = found.above;
  return found;
}

/** The worker that a subagent is: its type, and for one that may be anything its errand as well. */
export function workerOf(name: string | undefined, prompt: string | undefined): string {
  if (name !== undefined && !catchAlls.has(name)) return nameOf(name);
  const mark = (fingerprint('prompt', prompt ?? '') >>> 0).toString(16);
  return `${name ?? 'default'}#${mark}`;
}
