/** What a hook does about an event: what is counted on which task, and what is answered. */

import { hookPromptsMax } from '../core/limits.ts';
import { proposeDetached, settleDetached } from '../guard/entries/detached-call.ts';
import { fingerprint } from '../guard/runtime/fingerprint.ts';
import { callOf, decideCall, keep, targetOf } from './decide-call.ts';
import {
  type CallEndedEvent,
  type HookDecision,
  type HookEvent,
  type PromptEvent,
  pass,
  type StoppedEvent,
} from './hosts/hook-event.ts';
import { agentTask, beginTask, type HookWorld, haltOf, noteOf, spreadHalt, taskOf } from './session/hook-tasks.ts';
import { type Desk, type Held, inTurn } from './session/session-turn.ts';
import { endAgent, errandReturned } from './subagents.ts';

export async function handle(world: HookWorld, event: HookEvent): Promise<HookDecision> {
  switch (event.type) {
    case 'other':
    case 'session-started':
      return pass;
    case 'call-proposed':
      return decideCall(world, event);
    case 'prompt':
      return inTurn(world, (desk) => prompted(world, desk, event));
    case 'call-ended':
      return inTurn(world, (desk) => callEnded(world, desk, event));
    case 'batch-ended':
      return inTurn(world, async (desk) => {
        const task = await taskOf(world, desk, event.agent, event.agentType);
        task.round++;
        giveUpOpen(world, task);
        return haltOf(task) ?? noteOf(task) ?? pass;
      });
    case 'subagent-started':
      return inTurn(world, async (desk) => {
        await agentTask(world, desk, event.agent, event.agentType);
        return pass;
      });
    case 'subagent-ended':
      return inTurn(world, async (desk) => {
        await endAgent(world, desk, event.agent, false);
        return pass;
      });
    case 'stopped':
      return inTurn(world, (desk) => stopped(world, desk, event));
    case 'session-ended':
      return inTurn(world, async (desk) => {
        const { task, older } = desk.state;
        for (const id of task === null ? older : [...older, task]) await desk.end(id, 'done');
        desk.state = { ...desk.state, task: null, older: [], agents: {}, errands: {}, returned: {} };
        return pass;
      });
  }
}

/** A person's new words begin a task; the harness's, and words that were said before, go on with the one at hand. */
async function prompted(world: HookWorld, desk: Desk, { text, by, failed = [] }: PromptEvent): Promise<HookDecision> {
  for (const agent of failed) await endAgent(world, desk, agent, true);
  if (by === 'harness') return pass;
  const mark = fingerprint('user', text);
  const { task, prompts, agents, older } = desk.state;
  desk.state = { ...desk.state, prompts: [...prompts.filter((each) => each !== mark), mark].slice(-hookPromptsMax) };
  if (task !== null) {
    if (prompts.includes(mark)) return pass;
    // The task before is over, unless it has subagents out.
    const isOut = Object.values(agents).some(({ root }) => root === task);
    if (isOut) desk.state = { ...desk.state, older: [...older, task] };
    else await desk.end(task, 'done');
  }
  beginTask(world, desk);
  return pass;
}

async function callEnded(world: HookWorld, desk: Desk, event: CallEndedEvent): Promise<HookDecision> {
  const { runtime } = world;
  if (event.delegation !== undefined) await errandReturned(world, desk, event);
  const task = await taskOf(world, desk, event.agent, event.agentType);
  const asked = task.answers.find(({ id, kind }) => id === event.id && kind === 'ask');
  if (asked !== undefined) {
    // It runs only if the person at the host's terminal said yes: from now on it counts.
    task.answers = task.answers.filter((each) => each !== asked);
    const proposed = { ...event, type: 'call-proposed', id: asked.id } as const;
    const call = { ...callOf(world, task, proposed), approvedBy: 'the terminal' };
    const answered = proposeDetached(runtime, task.node, call);
    if ('permit' in answered) keep(desk, task, proposed, call, answered.permit);
  }
  const open = task.open.find((each) =>
    event.id === undefined
      ? each.name === event.tool && each.permit.action.fingerprint === fingerprint(event.tool, [event.input])
      : each.id === event.id,
  );
  if (open !== undefined) {
    task.open = task.open.filter((each) => each !== open);
    settleDetached(runtime, task.node, targetOf(runtime, event), open.permit, event.ending);
  }
  spreadHalt(world, task, event.tool);
  // Where the end of a turn is told, a note waits for it: it reaches the model whether or not the call failed.
  return haltOf(task) ?? (world.tellsTurns ? undefined : noteOf(task)) ?? pass;
}

/** The request is answered: its task is over, unless something of it goes on in the background. */
async function stopped(world: HookWorld, desk: Desk, { background }: StoppedEvent): Promise<HookDecision> {
  const { task, agents } = desk.state;
  const out = Object.entries(agents).filter(([, { root }]) => root === task);
  if (task === null || (background ?? out.length) > 0) return pass;
  const root = await desk.task(task);
  if (root !== undefined) giveUpOpen(world, root);
  for (const [agent] of out) await endAgent(world, desk, agent, false); // The host knows that they are gone.
  await desk.end(task, 'done');
  desk.state = { ...desk.state, task: null, errands: {}, returned: {} };
  return pass;
}

/** Calls of which nobody said how they ended: a person at the host's terminal did not let them run. */
function giveUpOpen({ runtime }: HookWorld, task: Held): void {
  const { open } = task;
  task.open = [];
  for (const { name: tool, isShared, permit } of open) {
    settleDetached(runtime, task.node, targetOf(runtime, { tool, isShared }), permit, { cancelled: true });
  }
}
