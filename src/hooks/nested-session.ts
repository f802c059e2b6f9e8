/** Books a nested agent, which another agent with hooks started, on the sessions of the agents above it. */

import { observe } from '../guard/internal.ts';
import { endSubagent } from './delegations.ts';
import { type HookDecision, type HookEvent, pass } from './hosts/hook-event.ts';
import { findOrBeginAgentTask, type HookContext, makeHaltDecision } from './session/hook-tasks.ts';
import { withSessionLock } from './session/session-lock.ts';
import type { OuterSession } from './session/session-state.ts';
import { accountUsage, type UsageSource } from './spend/account-usage.ts';

export interface NestedEvent {
  readonly event: Exclude<HookEvent, { readonly type: 'other' }>;
  /** The agent's session file; absent if its usage cannot be read. */
  readonly spending?: UsageSource | undefined;
}

/** Books a call and new usage as those of a subagent; returns a halt if a session above reached its limits. */
export async function bookNestedEvent(
  context: HookContext,
  outer: readonly OuterSession[],
  nested: NestedEvent,
): Promise<HookDecision> {
  let decision: HookDecision = pass;
  for (const each of outer) {
    const booked = await bookOn(context, each, nested);
    if (booked.kind === 'halt') decision = booked;
  }
  return decision;
}

function bookOn(context: HookContext, outer: OuterSession, { event, spending }: NestedEvent): Promise<HookDecision> {
  const { joined: _, onLocked: _begin, ...others } = context;
  const outerContext: HookContext = {
    ...others,
    session: outer.session,
    conversationKey: outer.conversation,
    isReportedByRun: false,
  };
  const { runtime, agent: host } = context;
  return withSessionLock(outerContext, async (session): Promise<HookDecision> => {
    const agent = `nested-${event.session}`;
    const task = await findOrBeginAgentTask(outerContext, session, agent, host);
    if (spending !== undefined) await accountUsage(outerContext, session, { ...spending, agent, isOlder: true });
    if (event.type === 'call-proposed') observe(runtime, task.node, { type: 'tool_use', name: 'nested call' });
    // A nested agent ends alone; the agent that started it goes on.
    const decision = task.node.halt === undefined ? pass : makeHaltDecision(task.node, task.node.halt);
    if (event.type === 'session-ended') await endSubagent(outerContext, session, agent, false);
    return decision;
  });
}
