/** Which task an event belongs to: that of the prompt at hand, or the child task of the subagent it happened in. */

import { countMax, hookAgentsMax, secsMax } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import { halt } from '../../guard/tasks/halt.ts';
import type { TaskState } from '../../guard/tasks/task.ts';
import { joinTask } from '../../guard/tasks/task-transfer.ts';
import { startTask } from '../../guard/tasks/task-tree.ts';
import type { BelowLimits } from '../../supervisor/run-record.ts';
import type { HookDecision } from '../hosts/hook-event.ts';
import type { Errand } from './session-state.ts';
import type { Desk, DeskOptions, Held } from './session-turn.ts';

export interface HookWorld extends DeskOptions {
  /** The agent's name and its session, which its tasks have. */
  readonly agent: string;
  readonly session: string;
  readonly tellsTurns: boolean;
  /** Whether a person sits at the host's own terminal and can be asked there. */
  readonly isAttended: boolean;
  /** The task of a run around it, which has begun already; its limits, and those of its subagents, where known. */
  readonly joined?: JoinedRun | undefined;
}

export interface JoinedRun {
  readonly task: string;
  readonly limits?: TaskSettings | undefined;
  readonly below?: BelowLimits | undefined;
  /** Whether the run only reports. */
  readonly observes?: boolean;
  /** Whether it goes on and can be heard of: then it counts money and budgets that many share, and tells of halts. */
  readonly isWatched: boolean;
}

/** The task that an event belongs to; one is begun where nobody said that one had. */
export async function taskOf(world: HookWorld, desk: Desk, agent?: string, type?: string): Promise<Held> {
  return agent === undefined ? rootOf(world, desk) : agentTask(world, desk, agent, type);
}

async function rootOf(world: HookWorld, desk: Desk): Promise<Held> {
  const { task } = desk.state;
  return (task === null ? undefined : await desk.task(task)) ?? beginTask(world, desk);
}

/** Begins the task of a prompt. */
export function beginTask(world: HookWorld, desk: Desk): Held {
  const { agent, session, joined, isAttended } = world;
  const number = desk.state.tasks + 1;
  const id =
    joined === undefined ? `hook-${session}#${number}` : number === 1 ? joined.task : `${joined.task}#${number}`;
  // Nobody watches over it between two calls, and a person who thinks is no agent that is silent.
  const unhurried = { maxIdleSecs: secsMax, ...(isAttended && { maxDurationSecs: secsMax }) };
  const limits = { ...joined?.limits, ...unhurried };
  desk.state = { ...desk.state, task: id, tasks: number };
  return desk.hold(begin(world, { id, agent, session, parent: undefined }, limits));
}

/** The task of a subagent, begun where it is not known. */
export async function agentTask(world: HookWorld, desk: Desk, agent: string, type = 'subagent'): Promise<Held> {
  const known = desk.state.agents[agent];
  const found = known && (await desk.task(known.task));
  if (found !== undefined) return found;
  const root = await rootOf(world, desk);
  const [errand, sender] = errandOf(desk, agent, type);
  const parent = (sender && (await desk.task(sender.task))) ?? root;
  const id = `${root.node.id}/${agent}`;
  const { node } = parent;
  const { limits: ofRun, below = {} } = world.joined ?? {};
  const limits = { ...ofRun, ...(Object.hasOwn(below, type) && below[type]), maxIdleSecs: secsMax };
  const given = { id, agent: type, session: world.session, parent: node };
  const held = desk.hold(begin(world, given, limits));
  const agents = Object.entries(desk.state.agents).slice(-hookAgentsMax + 1);
  desk.state = {
    ...desk.state,
    agents: { ...Object.fromEntries(agents), [agent]: { task: id, root: root.node.id, type, errand } },
  };
  return held;
}

/** The call that sent a subagent out, as far as anybody knows: the one that said so, or the only one that may have. */
function errandOf(
  { state }: Desk,
  agent: string,
  type: string,
): readonly [string, Errand] | readonly [null, undefined] {
  const all = Object.entries(state.errands);
  const named = all.find(([, errand]) => errand.agent === agent);
  const taken = new Set(Object.values(state.agents).map(({ errand }) => errand));
  const may = all.filter(([id, errand]) => errand.type === type && errand.agent === null && !taken.has(id));
  return named ?? (may.length === 1 ? may[0]! : [null, undefined]);
}

/** A task of a run is told of by the run, which also says when it is on its way to a limit. */
function begin(
  { runtime, joined }: HookWorld,
  given: Pick<TaskState, 'id' | 'agent' | 'session' | 'parent'>,
  limits: Partial<TaskSettings>,
): TaskState {
  if (joined !== undefined) return joinTask(runtime, given, { ...limits, noticeShare: countMax });
  return startTask(runtime, { ...given, parent: given.parent?.id ?? null, limits }, undefined);
}

/** A subagent cannot be ended without its parent, which would take it for finished: the whole task is halted. */
export function spreadHalt({ runtime }: HookWorld, { node }: Held, name: string): void {
  const { haltStop, parent } = node;
  if (haltStop === undefined || parent === undefined) return;
  halt(runtime, node, { ...haltStop, ends: 'root' }, name, runtime.clock.nowMs());
}

/** What a halted task answers to everything. */
export function haltOf({ node }: Held): HookDecision | undefined {
  return node.halt && halted(node, node.halt);
}

export function halted({ haltStop: stop }: TaskState, refusal: Refusal) {
  const { name } = refusal;
  return { kind: 'halt', reason: haltedWords(refusal), halt: stop && { stop, name } } as const;
}

function haltedWords({ explanation, remediation }: Refusal): string {
  // The reason of a rule may be a sentence of its own.
  return `Switchgear halted this task: ${explanation.replace(/\.$/, '')}. ${remediation}`;
}

/** What the model should be told before anything is refused; once. */
export function noteOf({ node }: Held): HookDecision | undefined {
  const { loopHint: note } = node;
  node.loopHint = undefined;
  return note === undefined ? undefined : { kind: 'note', text: `[switchgear] ${note}` };
}
