/** What a hook does about an event: what is counted on which task, and what is answered. */

import { hookPromptsMax } from '../core/limits.ts';
import { proposeDetached, settleDetached } from '../guard/entries/detached-call.ts';
import { fingerprint } from '../guard/internal.ts';
import { decideCall, makeCallTarget, makeProposedCall, recordOpenCall } from './decide-call.ts';
import { endSubagent, handleDelegationEnd } from './delegations.ts';
import {
  type CallEndedEvent,
  type HookDecision,
  type HookEvent,
  type PromptEvent,
  pass,
  type StoppedEvent,
} from './hosts/hook-event.ts';
import {
  beginPromptTask,
  consumeNote,
  findOrBeginAgentTask,
  findOrBeginTask,
  type HookContext,
  haltDecisionOf,
  haltRootTask,
} from './session/hook-tasks.ts';
import { type LoadedTask, runInTurn, type SessionTurn } from './session/session-turn.ts';

export async function handleEvent(context: HookContext, event: HookEvent): Promise<HookDecision> {
  switch (event.type) {
    case 'other':
    case 'session-started':
      return pass;
    case 'call-proposed':
      return decideCall(context, event);
    case 'prompt':
      return runInTurn(context, (turn) => handlePrompt(context, turn, event));
    case 'call-ended':
      return runInTurn(context, (turn) => handleCallEnded(context, turn, event));
    case 'batch-ended':
      return runInTurn(context, async (turn) => {
        const task = await findOrBeginTask(context, turn, event.agent, event.agentType);
        task.round++;
        cancelOpenCalls(context, task);
        return haltDecisionOf(task) ?? consumeNote(task) ?? pass;
      });
    case 'subagent-started':
      return runInTurn(context, async (turn) => {
        await findOrBeginAgentTask(context, turn, event.agent, event.agentType);
        return pass;
      });
    case 'subagent-ended':
      return runInTurn(context, async (turn) => {
        await endSubagent(context, turn, event.agent, false);
        return pass;
      });
    case 'stopped':
      return runInTurn(context, (turn) => handleStopped(context, turn, event));
    case 'session-ended':
      return runInTurn(context, async (turn) => {
        const { task, older } = turn.state;
        for (const id of task === null ? older : [...older, task]) await turn.endTask(id, 'done');
        turn.state = { ...turn.state, task: null, older: [], agents: {}, errands: {}, returned: {} };
        return pass;
      });
  }
}

/** A person's new words begin a task; the harness's, and words that were said before, go on with the one at hand. */
async function handlePrompt(
  context: HookContext,
  turn: SessionTurn,
  { text, by, failed = [] }: PromptEvent,
): Promise<HookDecision> {
  for (const agent of failed) await endSubagent(context, turn, agent, true);
  if (by === 'harness') return pass;
  const promptFingerprint = fingerprint('user', text);
  const { task, prompts, agents, older } = turn.state;
  turn.state = {
    ...turn.state,
    prompts: [...prompts.filter((each) => each !== promptFingerprint), promptFingerprint].slice(-hookPromptsMax),
  };
  if (task !== null) {
    if (prompts.includes(promptFingerprint)) return pass;
    // The task before is over, unless it has subagents out.
    const isOut = Object.values(agents).some(({ root }) => root === task);
    if (isOut) turn.state = { ...turn.state, older: [...older, task] };
    else await turn.endTask(task, 'done');
  }
  beginPromptTask(context, turn);
  return pass;
}

async function handleCallEnded(context: HookContext, turn: SessionTurn, event: CallEndedEvent): Promise<HookDecision> {
  const { runtime } = context;
  if (event.delegation !== undefined) await handleDelegationEnd(context, turn, event);
  const task = await findOrBeginTask(context, turn, event.agent, event.agentType);
  const unansweredAsk = task.answers.find(({ id, kind }) => id === event.id && kind === 'ask');
  if (unansweredAsk !== undefined) {
    // It runs only if the person at the host's terminal said yes: from now on it counts.
    task.answers = task.answers.filter((each) => each !== unansweredAsk);
    const proposed = { ...event, type: 'call-proposed', id: unansweredAsk.id } as const;
    const call = { ...makeProposedCall(context, task, proposed), approvedBy: 'the terminal' };
    const proposal = proposeDetached(runtime, task.node, call);
    if ('permit' in proposal) recordOpenCall(turn, task, proposed, call, proposal.permit);
  }
  const open = task.open.find((each) =>
    event.id === undefined
      ? each.name === event.tool && each.permit.action.fingerprint === fingerprint(event.tool, [event.input])
      : each.id === event.id,
  );
  if (open !== undefined) {
    task.open = task.open.filter((each) => each !== open);
    settleDetached(runtime, task.node, makeCallTarget(runtime, event), open.permit, event.ending);
  }
  haltRootTask(context, task, event.tool);
  // Where the end of a turn is told, a note waits for it: it reaches the model whether or not the call failed.
  return haltDecisionOf(task) ?? (context.reportsTurns ? undefined : consumeNote(task)) ?? pass;
}

/** The request is answered: its task is over, unless something of it goes on in the background. */
async function handleStopped(
  context: HookContext,
  turn: SessionTurn,
  { background }: StoppedEvent,
): Promise<HookDecision> {
  const { task, agents } = turn.state;
  const running = Object.entries(agents).filter(([, { root }]) => root === task);
  if (task === null || (background ?? running.length) > 0) return pass;
  const root = await turn.loadTask(task);
  if (root !== undefined) cancelOpenCalls(context, root);
  for (const [agent] of running) await endSubagent(context, turn, agent, false); // The host knows that they are gone.
  await turn.endTask(task, 'done');
  turn.state = { ...turn.state, task: null, errands: {}, returned: {} };
  return pass;
}

/** Calls of which nobody said how they ended: a person at the host's terminal did not let them run. */
function cancelOpenCalls({ runtime }: HookContext, task: LoadedTask): void {
  const { open } = task;
  task.open = [];
  for (const { name: tool, isShared, permit } of open) {
    settleDetached(runtime, task.node, makeCallTarget(runtime, { tool, isShared }), permit, { cancelled: true });
  }
}
