/** The subagents of a run as child tasks: begun, found by their ids, and ended, with how they came back booked once. */

import { sessionPollMs, workersMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { recordDelegation } from '../../guard/entries/delegate.ts';
import { callSiteFor, fingerprint, type Runtime, type TaskState, targetFor } from '../../guard/internal.ts';
import type { SubagentEndedEvent, SubagentStartedEvent } from '../reading/agent-event.ts';
import { asKeyName } from '../reading/reader.ts';

/** A subagent, and what is known of it. */
interface Subagent {
  readonly id: string;
  /** The call that sent it, once that is known. */
  call: string | undefined;
  readonly task: Task;
  readonly node: TaskState;
  /** The subagent that sent it, if it was one. */
  readonly sender: Subagent | undefined;
  readonly parentNode: TaskState;
  readonly worker: string;
  /** Told of under one id, and of what it does under another, if at all. */
  hidden: boolean;
  /** How it came back, once that is known and booked. */
  outcome: 'done' | 'error' | undefined;
  /** Its task has ended: nothing can be booked on it any more. */
  ended: boolean;
}

/** The run that they are part of. */
export interface SupervisedRun {
  readonly gear: Switchgear;
  readonly runtime: Runtime;
  readonly root: Task;
  readonly rootNode: TaskState;
  /** Limits by the name of a subagent. */
  readonly subagentLimits: Readonly<Record<string, Partial<TaskSettings>>> | undefined;
}

export interface SubagentTasks {
  /** The task that an event of an agent belongs to: its own, its parent's once that has ended, the run's if unknown. */
  taskOf(agent: string | undefined): Task;
  start(event: SubagentStartedEvent): Stop | undefined;
  /** It is over. What a hidden one did may be read a little later, and is still its own. */
  end(event: SubagentEndedEvent): void;
  /** Ends the subagents that no event has ended. */
  endAll(): void;
  /** The tasks of subagents that have not ended. */
  running(): readonly Task[];
  readonly tasks: readonly Task[];
}

/** Names that say nothing of what a worker is for: each errand is a worker of its own. */
const genericNames = new Set(['general-purpose', 'default', 'claude', 'general']);

/** Two looks at the session files: then whatever it did was read. */
const lateReadMs = 2 * sessionPollMs;

export function subagentTasks(
  { gear, runtime, root, rootNode, subagentLimits }: SupervisedRun,
  onStarted: (task: Task) => void,
  onEnded: (id: string) => void,
): SubagentTasks {
  const subagents = new Map<string, Subagent>();
  /** Other ids of hidden subagents. */
  const aliases = new Map<string, string>();

  function startSubagent({
    id,
    call,
    name,
    prompt,
    parent: senderId,
    hidden = false,
  }: SubagentStartedEvent): Subagent | undefined {
    const sender = senderId === undefined ? undefined : findLiving(subagents.get(senderId));
    const parentNode = sender?.node ?? rootNode;
    if (subagents.size >= workersMax) forgetEnded();
    if (subagents.size >= workersMax || parentNode.ended) return undefined;
    const agent = asKeyName(name ?? 'subagent');
    const limits = subagentLimits && Object.hasOwn(subagentLimits, agent) ? subagentLimits[agent] : undefined;
    const task = gear.startTask({
      id: findFreeId(`${root.id.slice(0, 100)}/${asKeyName(id)}`),
      agent,
      parent: parentNode.id,
      session: root.session,
      ...(limits && { limits }),
    });
    const node = runtime.tasks.get(task.id);
    if (node === undefined) return undefined;
    const state = { hidden, outcome: undefined, ended: false };
    const subagent: Subagent = {
      id,
      call,
      task,
      node,
      sender,
      parentNode,
      worker: makeWorkerName(name, prompt),
      ...state,
    };
    subagents.set(id, subagent);
    onStarted(task);
    return subagent;
  }

  function findFreeId(wanted: string): string {
    let id = wanted;
    for (let round = 2; runtime.tasks.has(id); round++) id = `${wanted}#${round}`;
    return id;
  }

  /** The first that has ended is not asked about any more. */
  function forgetEnded(): void {
    for (const [id, { ended }] of subagents) {
      if (!ended) continue;
      subagents.delete(id);
      return;
    }
  }

  /** An id that nobody told of belongs to the first hidden subagent that has no other id yet. */
  function aliasHidden(agent: string): Subagent | undefined {
    const taken = new Set(aliases.values());
    const found = [...subagents].find(([id, { hidden, ended }]) => hidden && !ended && !taken.has(id));
    if (found === undefined || aliases.size >= workersMax) return undefined;
    aliases.set(agent, found[0]);
    return found[1];
  }

  function finish(subagent: Subagent, ok: boolean, reason: string): void {
    if (subagent.outcome !== undefined) return;
    const { node, parentNode, worker, hidden } = subagent;
    const halted = node.haltStop !== undefined;
    subagent.outcome = ok && !halted ? 'done' : 'error';
    if (hidden && !halted) runtime.clock.after(lateReadMs, () => close(subagent));
    else close(subagent);
    if (parentNode.haltStop !== undefined) return; // It ended along with those above it, and has not failed.
    const site = callSiteFor(runtime, targetFor(runtime, worker, 'delegation'), parentNode);
    recordDelegation(runtime, site, node, {
      failed: !ok || halted,
      reason: halted ? (node.halt?.message ?? reason) : reason,
    });
  }

  function close(subagent: Subagent): void {
    if (subagent.ended) return;
    subagent.ended = true;
    subagent.task.end(subagent.outcome ?? 'error');
    // Its counts may still be asked for; what its next calls would be compared with is not needed any more.
    const { node } = subagent;
    node.recentOutput = node.callSites = node.counted = node.boundControls = undefined;
    onEnded(subagent.id);
  }

  return {
    taskOf(agent) {
      if (agent === undefined) return root;
      return findLiving(subagents.get(aliases.get(agent) ?? agent) ?? aliasHidden(agent))?.task ?? root;
    },
    start(event) {
      const earlier = subagents.get(event.id);
      if (earlier?.ended === false) {
        earlier.hidden ||= event.hidden === true; // Its file told of it before the stream did, or tells of it again.
        return undefined;
      }
      // A file that tells of it knows no call, and may have told its whole story before the stream began to.
      const call = event.call ?? earlier?.call;
      if (earlier !== undefined && call !== undefined && call === (earlier.call ?? call)) {
        earlier.call = call;
        return undefined;
      }
      const subagent = startSubagent(event);
      if (subagent === undefined) return undefined;
      // The delegation control halts a worker that reached its limit of failures.
      const { panel } = callSiteFor(runtime, targetFor(runtime, subagent.worker, 'delegation'), subagent.parentNode);
      const bound = panel.find(({ control }) => control.name === 'delegation');
      const verdict = bound?.control.check?.(bound.cell.state, runtime.clock.nowMs());
      return verdict?.kind === 'halt' ? verdict : undefined;
    },
    end({ id, ok, reason = ok ? '' : 'it failed' }) {
      const subagent = subagents.get(id);
      if (subagent !== undefined) finish(subagent, ok, reason);
    },
    endAll() {
      for (const subagent of subagents.values()) close(subagent);
    },
    running: () => [...subagents.values()].flatMap(({ ended, task }) => (ended ? [] : [task])),
    get tasks() {
      return [...subagents.values()].map(({ task }) => task);
    },
  };
}

/** It, or the nearest above it whose task has not ended; undefined is the run itself. */
function findLiving(subagent: Subagent | undefined): Subagent | undefined {
  let found = subagent;
  while (found?.ended) found = found.sender;
  return found;
}

/** The worker that a subagent is: its type, and for one that may be anything its errand as well. */
export function makeWorkerName(name: string | undefined, prompt: string | undefined): string {
  if (name !== undefined && !genericNames.has(name)) return asKeyName(name);
  const digest = (fingerprint('prompt', prompt ?? '') >>> 0).toString(16);
  return `${name ?? 'default'}#${digest}`;
}
