/** Finds the task of an event: the task of the current prompt, or the child task of a subagent. */

import { countMax, hookAgentsMax, hookReasonMax, secsMax } from '../../core/limits.ts';
import { endSentence } from '../../core/messages/model-text.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { HookedHost } from '../../guard/entries/hooked-calls.ts';
import { joinTask, startTask, type TaskState } from '../../guard/internal.ts';
import type { OwnTargets } from '../../platform/self-protection/own-files.ts';
import type { SubagentLimits } from '../../supervisor/run-record.ts';
import type { HookDecision, InputEdits } from '../hosts/hook-event.ts';
import type { LoadedTask, LockedSession, SessionLockOptions } from './session-lock.ts';
import type { PendingDelegation } from './session-state.ts';

export interface HookContext extends SessionLockOptions {
  /** The name and session of the agent's tasks. */
  readonly agent: string;
  readonly session: string;
  readonly reportsTurns: boolean;
  /** The process that runs the hooks, if known. */
  readonly host?: HookedHost | undefined;
  /** Whether a person can be asked at the host's terminal. */
  readonly isAttended: boolean;
  /** How the host takes an input in place of that of a call; absent: it cannot. */
  readonly inputEdits?: InputEdits | undefined;
  /** The files and programs that the agent must not use to change its own guard. */
  readonly ownTargets?: OwnTargets | undefined;
  /** The task of the surrounding `switchgear run`, with its limits and those of its subagents, if known. */
  readonly joined?: JoinedRun | undefined;
}

export interface JoinedRun {
  readonly task: string;
  /** The session of the run, if the run was found by its processes. */
  readonly session?: string | undefined;
  readonly limits?: TaskSettings | undefined;
  readonly subagentLimits?: SubagentLimits | undefined;
  /** Whether the run only reports. */
  readonly observes?: boolean;
  /** Whether the run is active and reachable; then it counts money and shared budgets, and reports halts. */
  readonly isWatched: boolean;
  /** The conversation of the run's own agent, once known; another session is a nested agent. */
  readonly conversation?: string | undefined;
}

/** Finds the task of an event; starts one if none is known. */
export async function findOrBeginTask(
  context: HookContext,
  session: LockedSession,
  agent?: string,
  type?: string,
): Promise<LoadedTask> {
  return agent === undefined ? findOrBeginRoot(context, session) : findOrBeginAgentTask(context, session, agent, type);
}

async function findOrBeginRoot(context: HookContext, session: LockedSession): Promise<LoadedTask> {
  const { task } = session.state;
  return (task === null ? undefined : await session.loadTask(task)) ?? beginPromptTask(context, session);
}

/** Starts the task of a prompt. */
export function beginPromptTask(context: HookContext, session: LockedSession): LoadedTask {
  const { agent, joined, isAttended } = context;
  const number = session.state.tasks + 1;
  const id =
    joined === undefined
      ? `hook-${context.session}#${number}`
      : number === 1
        ? joined.task
        : `${joined.task}#${number}`;
  // No process watches the task between two calls, and a person may take their time.
  const unhurried = { maxIdleSecs: secsMax, ...(isAttended && { maxDurationSecs: secsMax }) };
  const limits = { ...joined?.limits, ...unhurried };
  session.state = { ...session.state, task: id, tasks: number };
  return session.addTask(startOrJoin(context, { id, agent, session: context.session, parent: undefined }, limits));
}

/** Finds the task of a subagent; starts it if it is not known. */
export async function findOrBeginAgentTask(
  context: HookContext,
  session: LockedSession,
  agent: string,
  type = 'subagent',
): Promise<LoadedTask> {
  const subagent = session.state.agents[agent];
  const loaded = subagent && (await session.loadTask(subagent.task));
  if (loaded !== undefined) return loaded;
  const root = await findOrBeginRoot(context, session);
  const [delegation, sender] = findDelegation(session, agent, type);
  const parent = (sender && (await session.loadTask(sender.task))) ?? root;
  const id = `${root.node.id}/${agent}`;
  const { node } = parent;
  const { limits: runLimits, subagentLimits = {} } = context.joined ?? {};
  const limits = {
    ...runLimits,
    ...(Object.hasOwn(subagentLimits, type) && subagentLimits[type]),
    maxIdleSecs: secsMax,
  };
  const identity = { id, agent: type, session: context.session, parent: node };
  const task = session.addTask(startOrJoin(context, identity, limits));
  const agents = Object.entries(session.state.agents).slice(-hookAgentsMax + 1);
  session.state = {
    ...session.state,
    agents: { ...Object.fromEntries(agents), [agent]: { task: id, root: root.node.id, type, delegation } },
  };
  return task;
}

/** The call that started a subagent: the one that named it, or the only possible one. */
function findDelegation(
  { state }: LockedSession,
  agent: string,
  type: string,
): readonly [string, PendingDelegation] | readonly [null, undefined] {
  const all = Object.entries(state.delegations);
  const named = all.find(([, delegation]) => delegation.agent === agent);
  const taken = new Set(Object.values(state.agents).map(({ delegation }) => delegation));
  const candidates = all.filter(
    ([id, delegation]) => delegation.type === type && delegation.agent === null && !taken.has(id),
  );
  return named ?? (candidates.length === 1 ? candidates[0]! : [null, undefined]);
}

/** Starts a task, or joins the task of a run, which writes the entries of the task and its notices. */
function startOrJoin(
  { runtime, joined }: HookContext,
  identity: Pick<TaskState, 'id' | 'agent' | 'session' | 'parent'>,
  limits: Partial<TaskSettings>,
): TaskState {
  const isDelegated = identity.parent !== undefined;
  if (joined !== undefined)
    return joinTask(runtime, { ...identity, isDelegated }, { ...limits, noticeShare: countMax });
  const options = { ...identity, parent: identity.parent?.id ?? null, delegated: isDelegated, limits };
  return startTask(runtime, options, undefined);
}

/** Whether a task is a subagent that was halted alone, while the main agent goes on. */
export function isHaltedAlone(task: TaskState): boolean {
  let root = task;
  while (root.parent !== undefined) root = root.parent;
  return task.haltStop !== undefined && root !== task && root.haltStop === undefined;
}

/** The answer of a halted task to every event; a subagent that was halted alone may still say why in a closing turn. */
export function haltDecisionOf({ node }: LoadedTask): HookDecision | undefined {
  return isHaltedAlone(node) ? undefined : node.halt && makeHaltDecision(node, node.halt);
}

export function makeHaltDecision(node: TaskState, refusal: Refusal) {
  const { haltStop: stop } = node;
  const { name } = refusal;
  // A run that is told of a halt ends; the parent of a subagent goes on.
  const halt = isHaltedAlone(node) ? undefined : stop && { stop, name };
  return { kind: 'halt', reason: formatHaltReason(refusal), halt } as const;
}

/** What a parent reads of a subagent that was halted. */
export function tellParent(parent: TaskState, agent: string, { message }: Refusal): void {
  const note = `Switchgear halted the subagent '${agent}': ${endSentence(message)} Its work is not finished.`;
  parent.loopHint = parent.loopHint === undefined ? note : `${parent.loopHint} ${note}`.slice(0, 4 * hookReasonMax);
}

function formatHaltReason({ explanation, remediation }: Refusal): string {
  // The reason of a rule may end with a full stop.
  return `Switchgear halted this task: ${endSentence(explanation)} ${remediation}`;
}

/** Returns the pending loop hint for the model, once. */
export function consumeNote({ node }: LoadedTask): HookDecision | undefined {
  const { loopHint: note } = node;
  node.loopHint = undefined;
  return note === undefined ? undefined : { kind: 'note', text: `[switchgear] ${note}` };
}
