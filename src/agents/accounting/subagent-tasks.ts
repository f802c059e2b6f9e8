/**
 * Runs the subagents of a run as child tasks: starts them, finds them by id, ends them, and counts each outcome once.
 */

import { findDelegationHalt } from '../../core/controls/panel.ts';
import { sessionPollMs, workersMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { findTooDeep, makeWorkerName, recordDelegation } from '../../guard/entries/delegate.ts';
import { callSiteFor, type Runtime, type TaskStart, type TaskState, targetFor } from '../../guard/internal.ts';
import type { SubagentEndedEvent, SubagentStartedEvent } from '../reading/agent-event.ts';
import { asKeyName } from '../reading/reader.ts';

/** A subagent of a run. */
interface Subagent {
  readonly id: string;
  /** The call that started the subagent, once known. */
  call: string | undefined;
  readonly task: Task;
  readonly node: TaskState;
  /** The subagent that started this one, if any. */
  readonly sender: Subagent | undefined;
  readonly parentNode: TaskState;
  readonly worker: string;
  readonly isPart: boolean;
  /** Whether its start and its actions are reported under different ids. */
  hidden: boolean;
  /** The outcome, once it is counted. */
  outcome: 'done' | 'error' | undefined;
  /** Whether its task has ended; an ended task counts no more events. */
  ended: boolean;
}

/** The run of the subagents. */
export interface SupervisedRun {
  readonly gear: Switchgear;
  readonly runtime: Runtime;
  readonly root: Task;
  readonly rootNode: TaskState;
  /** Limits by subagent name. */
  readonly subagentLimits: Readonly<Record<string, Partial<TaskSettings>>> | undefined;
}

export interface SubagentTasks {
  /**
   * The task of an agent's event: the agent's own task, its nearest running ancestor's if that has ended, or the
   * run's if the agent is unknown.
   */
  taskOf(agent: string | undefined): Task;
  /** Whether an agent is a part of the main agent's own work, opened by a heartbeat. */
  isPart(agent: string | undefined): boolean;
  start(event: SubagentStartedEvent): Stop | undefined;
  /** Ends a subagent. Events of a hidden subagent may be read a little later and still count for it. */
  end(event: SubagentEndedEvent): void;
  /** Ends all subagents that are still running. */
  endAll(): void;
  /** The tasks of subagents that have not ended. */
  running(): readonly Task[];
  readonly tasks: readonly Task[];
}

/** Two polls of the session files, after which all events of a hidden subagent were read. */
const lateReadMs = 2 * sessionPollMs;

export function subagentTasks(
  { gear, runtime, root, rootNode, subagentLimits }: SupervisedRun,
  onStarted: (task: Task) => void,
  onEnded: (id: string) => void,
): SubagentTasks {
  const subagents = new Map<string, Subagent>();
  /** Other ids of hidden subagents. */
  const aliases = new Map<string, string>();
  let hasHidden = false;

  function startSubagent({
    id,
    call,
    name,
    prompt,
    parent: senderId,
    hidden = false,
    isPart = false,
  }: SubagentStartedEvent): Subagent | undefined {
    const sender = senderId === undefined ? undefined : findLiving(subagents.get(senderId));
    const parentNode = sender?.node ?? rootNode;
    if (subagents.size >= workersMax) forgetEnded();
    if (subagents.size >= workersMax || parentNode.ended) return undefined;
    // A part of the agent's own work is known by its id, so that a raised limit is that of this part alone.
    const agent = asKeyName(name ?? (isPart ? id : 'subagent'));
    const limits = subagentLimits && Object.hasOwn(subagentLimits, agent) ? subagentLimits[agent] : undefined;
    const options: TaskStart = {
      id: findFreeId(`${root.id.slice(0, 100)}/${asKeyName(id)}`),
      agent,
      parent: parentNode.id,
      session: root.session,
      delegated: true,
      ...(limits && { limits }),
    };
    const task = gear.startTask(options);
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
      isPart,
      worker: makeWorkerName(name === undefined ? undefined : agent, prompt),
      ...state,
    };
    subagents.set(id, subagent);
    hasHidden ||= hidden;
    onStarted(task);
    return subagent;
  }

  function findFreeId(wanted: string): string {
    let id = wanted;
    for (let round = 2; runtime.tasks.has(id); round++) id = `${wanted}#${round}`;
    return id;
  }

  /** Removes the oldest ended subagent. */
  function forgetEnded(): void {
    for (const [id, { ended }] of subagents) {
      if (!ended) continue;
      subagents.delete(id);
      return;
    }
  }

  /** Assigns an unknown id to the first hidden subagent without a second id. */
  function aliasHidden(agent: string): Subagent | undefined {
    if (!hasHidden) return undefined;
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
    if (parentNode.haltStop !== undefined) return; // The subagent ended with its halted parent and has not failed.
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
    // Keep the counters, which may still be read; drop the history for loop detection.
    const { node } = subagent;
    node.recentOutput = node.callSites = node.counted = node.boundControls = undefined;
    onEnded(subagent.id);
  }

  return {
    taskOf(agent) {
      if (agent === undefined) return root;
      return findLiving(subagents.get(aliases.get(agent) ?? agent) ?? aliasHidden(agent))?.task ?? root;
    },
    isPart: (agent) => agent !== undefined && subagents.get(agent)?.isPart === true,
    start(event) {
      const earlier = subagents.get(event.id);
      if (earlier?.ended === false) {
        earlier.hidden ||= event.hidden === true;
        hasHidden ||= earlier.hidden; // The session file and the stream report the same subagent.
        return undefined;
      }
      // A session file does not contain the call, and may report a whole subagent before the stream reports its start.
      const call = event.call ?? earlier?.call;
      if (earlier !== undefined && call !== undefined && call === (earlier.call ?? call)) {
        earlier.call = call;
        return undefined;
      }
      const subagent = startSubagent(event);
      if (subagent === undefined) return undefined;
      const tooDeep = findTooDeep(runtime, subagent.parentNode, subagent.worker);
      if (tooDeep !== undefined) return { ...tooDeep, kind: 'halt' };
      // The delegation control halts a worker that reached its limit of failures.
      const { panel } = callSiteFor(runtime, targetFor(runtime, subagent.worker, 'delegation'), subagent.parentNode);
      return findDelegationHalt(panel, runtime.clock.nowMs());
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

/** The subagent, or its nearest ancestor, whose task has not ended; undefined is the run itself. */
function findLiving(subagent: Subagent | undefined): Subagent | undefined {
  let found = subagent;
  while (found?.ended) found = found.sender;
  return found;
}
