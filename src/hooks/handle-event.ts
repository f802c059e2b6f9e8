/** Handles a hook event: counts it on its task and returns the answer. */

import { hookPromptsMax } from '../core/limits.ts';
import { proposeDetached, refuseDetached, settleDetached } from '../guard/entries/detached-call.ts';
import { endHookedCalls } from '../guard/entries/hooked-calls.ts';
import { fingerprint, observe, type Runtime, removeInput, requestId } from '../guard/internal.ts';
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
import { beginNextTask, settleEarlyPrompt } from './prompts.ts';
import {
  consumeNote,
  findOrBeginAgentTask,
  findOrBeginTask,
  type HookContext,
  haltDecisionOf,
} from './session/hook-tasks.ts';
import { type LoadedTask, type LockedSession, withSessionLock } from './session/session-lock.ts';
import type { OpenHookCall } from './session/session-state.ts';
import { findPrompt, hasResult } from './transcript-prompts.ts';

export async function handleEvent(context: HookContext, event: HookEvent): Promise<HookDecision> {
  switch (event.type) {
    case 'other':
    case 'session-started':
      return pass;
    case 'call-proposed':
      return decideCall(context, event);
    case 'prompt':
      return withSessionLock(context, (session) => handlePrompt(context, session, event));
    case 'call-ended':
      return withSessionLock(context, (session) => handleCallEnded(context, session, event));
    case 'batch-ended':
      return withSessionLock(context, async (session) => {
        if (session.source !== 'host') return pass;
        const task = await findOrBeginTask(context, session, event.agent, event.agentType);
        task.modelTurn++;
        await cancelOpenCalls(context, session, task, false);
        for (const { id, tool: name, input, output } of event.rejected ?? []) {
          observe(context.runtime, task.node, { type: 'tool_use', id, name, input });
          observe(context.runtime, task.node, { type: 'tool_result', id, ok: false, output });
        }
        return haltDecisionOf(task) ?? consumeNote(task) ?? pass;
      });
    case 'subagent-started':
      return withSessionLock(context, async (session) => {
        if (session.source !== 'host') return pass;
        await findOrBeginAgentTask(context, session, event.agent, event.agentType);
        return pass;
      });
    case 'subagent-ended':
      return withSessionLock(context, async (session) => {
        if (session.source !== 'host') return pass;
        await endSubagent(context, session, event.agent, false);
        return pass;
      });
    case 'stopped':
      return withSessionLock(context, (session) => handleStopped(context, session, event));
    case 'session-ended':
      return withSessionLock(context, async (session) => {
        if (session.source !== 'host') return pass;
        const { task, older } = session.state;
        const root = task === null ? undefined : await session.loadTask(task);
        if (root !== undefined && (await cancelOpenCalls(context, session, root)) > 0) {
          session.state = { ...session.state, isEnding: true };
          return pass;
        }
        for (const id of task === null ? older : [...older, task]) await session.endTask(id, 'done');
        const { policy: _, ...state } = session.state; // A session that goes on later begins with the policy of then.
        session.state = { ...state, task: null, older: [], agents: {}, delegations: {}, returned: {} };
        return pass;
      });
  }
}

/**
 * A new prompt of a person starts a task. A text of the agent CLI, or a repeated prompt, continues the current task.
 */
async function handlePrompt(
  context: HookContext,
  session: LockedSession,
  { text, by, failed = [] }: PromptEvent,
): Promise<HookDecision> {
  if (session.source !== 'host') return pass;
  for (const agent of failed) await endSubagent(context, session, agent, true);
  if (by === 'harness') return pass;
  const promptFingerprint = fingerprint('user', text);
  const { task, prompts } = session.state;
  session.state = {
    ...session.state,
    prompts: [...prompts.filter((each) => each !== promptFingerprint), promptFingerprint].slice(-hookPromptsMax),
  };
  const { path, promptBytes } = session.state.transcript ?? {};
  const found = path === undefined ? undefined : findPrompt(path, text, promptBytes);
  if (task !== null) {
    if (prompts.includes(promptFingerprint)) return pass;
    const hasOpenCalls = ((await session.loadTask(task))?.open.length ?? 0) > 0;
    if (found?.isHeld === false || (found === undefined && hasOpenCalls)) {
      // A person, or a tool of the agent: the next event shows which.
      const { dropped = 0 } = session.state.early ?? {};
      session.state = { ...session.state, early: { isPending: true, atBytes: found?.bytes ?? null, dropped } };
      return pass;
    }
  }
  await beginNextTask(context, session, found?.bytes);
  return pass;
}

async function handleCallEnded(
  context: HookContext,
  session: LockedSession,
  event: CallEndedEvent,
): Promise<HookDecision> {
  const { runtime } = context;
  if (session.source === 'tool') return pass;
  // A call that ends by itself was not interrupted by a prompt.
  if (session.source === 'host' && !('cancelled' in event.ending))
    await settleEarlyPrompt(context, session, 'call-ended');
  if (event.delegation !== undefined) await handleDelegationEnd(context, session, event);
  const task = await findOrBeginTask(context, session, event.agent, event.agentType);
  const unansweredAsk = task.answers.find(({ id, kind }) => id === event.id && kind === 'ask');
  if (unansweredAsk !== undefined) {
    // The call ran, so the person at the host's terminal approved it: from now on it counts.
    task.answers = task.answers.filter((each) => each !== unansweredAsk);
    const proposed = { ...event, type: 'call-proposed', id: unansweredAsk.id } as const;
    const call = { ...makeProposedCall(context, task, proposed), approvedBy: 'the terminal' };
    const proposal = proposeDetached(runtime, task.node, call);
    if ('permit' in proposal) recordOpenCall(session, task, proposed, call, proposal.permit);
    // It ran before a limit could be raised.
    else if ('later' in proposal && proposal.later.raise) refuseDetached(runtime, task.node, call, proposal.later);
  }
  const open = task.open.find((each) =>
    event.id === undefined
      ? each.name === event.tool && hasInput(each, fingerprint(event.tool, [event.input]))
      : each.id === event.id,
  );
  // Another process ends only the calls that it proposed, and does not vouch for their success.
  const isForeign = session.source === 'other host';
  if (open !== undefined && isForeign === (open.isForeign ?? false)) {
    task.open = task.open.filter((each) => each !== open);
    const passed = open.isShared && !isForeign ? await endHookedCalls(runtime, [open.id]) : undefined;
    const isPassed = passed?.has(open.id);
    settleDetached(
      runtime,
      task.node,
      makeCallTarget(runtime, event),
      open.permit,
      endingOf(event, isForeign),
      isPassed,
    );
    forgetEdit(runtime, open);
  }
  // If the host reports the end of a turn, the hint waits for it: there it reaches the model even if the call failed.
  return haltDecisionOf(task) ?? (context.reportsTurns ? undefined : consumeNote(task)) ?? pass;
}

/** Whether a call has the input of a fingerprint: its own, or the one before a person edited it. */
function hasInput({ permit, edit }: OpenHookCall, input: number): boolean {
  return permit.action.fingerprint === input || edit?.fingerprint === input;
}

/** Forgets the edited input of a call that has ended. */
function forgetEdit({ store }: Runtime, { edit }: OpenHookCall): void {
  if (edit !== undefined) removeInput(store, requestId(edit.card));
}

function endingOf({ ending }: CallEndedEvent, isForeign: boolean): CallEndedEvent['ending'] {
  return isForeign && 'value' in ending ? { cancelled: true } : ending;
}

/** Ends the task after the agent has answered, unless background work continues. */
async function handleStopped(
  context: HookContext,
  session: LockedSession,
  { background }: StoppedEvent,
): Promise<HookDecision> {
  if (session.source !== 'host') return pass;
  const { task, agents } = session.state;
  const running = Object.entries(agents).filter(([, { root }]) => root === task);
  if (task === null || (background ?? running.length) > 0) return pass;
  const root = await session.loadTask(task);
  if (root !== undefined && (await cancelOpenCalls(context, session, root)) > 0) return pass;
  // The host reports that these subagents are gone.
  for (const [agent] of running) await endSubagent(context, session, agent, false);
  await session.endTask(task, 'done');
  session.state = { ...session.state, task: null, delegations: {}, returned: {} };
  return pass;
}

/**
 * Cancels calls without a reported end: a person at the host's terminal declined them. A call whose result the session
 * file does not contain may be running, and may be the one that made up the event; returns the number of these. If the
 * file cannot be read, `mayRun` decides.
 */
async function cancelOpenCalls(
  { runtime }: HookContext,
  { state: { transcript } }: LockedSession,
  task: LoadedTask,
  mayRun = true,
): Promise<number> {
  const { open } = task;
  const isRunning = ({ id }: OpenHookCall) => !((transcript && hasResult(transcript.path, id)) ?? !mayRun);
  task.open = open.filter(isRunning);
  const over = open.filter((each) => !task.open.includes(each));
  const published = over.filter(({ isShared }) => isShared).map(({ id }) => id);
  if (published.length > 0) await endHookedCalls(runtime, published);
  for (const cancelled of over) {
    const { name: tool, isShared, proxyName, permit } = cancelled;
    const target = makeCallTarget(runtime, { tool, isShared, proxyName });
    settleDetached(runtime, task.node, target, permit, { cancelled: true });
    forgetEdit(runtime, cancelled);
  }
  return task.open.length;
}
