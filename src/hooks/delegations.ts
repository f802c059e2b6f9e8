/** Delegations: a call that sends a subagent is settled when the subagent returns, and its failure counts once. */

import type { Ending } from '../core/classify.ts';
import { hookAgentsMax } from '../core/limits.ts';
import { recordDelegation } from '../guard/entries/delegate.ts';
import { settleDetached } from '../guard/entries/detached-call.ts';
import { callSiteFor, targetFor } from '../guard/internal.ts';
import type { CallEndedEvent } from './hosts/hook-event.ts';
import { type HookContext, tellParent } from './session/hook-tasks.ts';
import type { LockedSession } from './session/session-lock.ts';
import type { SubagentReturn } from './session/session-state.ts';

/** Ends a subagent. The call that sent it may become known later. */
export async function endSubagent(
  context: HookContext,
  session: LockedSession,
  id: string,
  isFailed: boolean,
): Promise<void> {
  const agent = session.state.agents[id];
  if (agent === undefined) return;
  const task = await session.loadTask(agent.task);
  const halted = task?.node.halt;
  const failed = isFailed || halted !== undefined;
  const reason = halted?.message ?? (isFailed ? 'it failed' : '');
  const result: SubagentReturn = { failed, reason, isBooked: (task?.node.booked?.size ?? 0) > 0 };
  const parent = task?.node.parent;
  if (halted !== undefined && parent !== undefined && parent.haltStop === undefined)
    tellParent(parent, agent.type, halted);
  await session.endTask(agent.task, failed ? 'error' : 'done');
  const { [id]: _, ...agents } = session.state.agents;
  session.state = { ...session.state, agents };
  if (agent.delegation !== null) await settleDelegation(context, session, agent.delegation, result);
  else {
    const returned = Object.entries(session.state.returned).slice(-hookAgentsMax + 1);
    session.state = { ...session.state, returned: { ...Object.fromEntries(returned), [id]: result } };
  }
  await endOlder(session, agent.root);
}

/** Ends a replaced task when its last subagent has ended. */
async function endOlder(session: LockedSession, root: string): Promise<void> {
  const { older, agents } = session.state;
  if (!older.includes(root) || Object.values(agents).some((agent) => agent.root === root)) return;
  await session.endTask(root, 'done');
  session.state = { ...session.state, older: older.filter((each) => each !== root) };
}

/** Handles the return of a call that sent a subagent: at once, or together with the subagent. */
export async function handleDelegationEnd(
  context: HookContext,
  session: LockedSession,
  event: CallEndedEvent,
): Promise<void> {
  const { id = '', ending, subagent } = event;
  const delegation = session.state.delegations[id];
  if (delegation === undefined) return;
  const agent = subagent?.agent;
  if (agent !== undefined) {
    const { [agent]: result, ...returned } = session.state.returned;
    const running = session.state.agents[agent];
    if (result !== undefined) {
      session.state = { ...session.state, returned };
      return settleDelegation(context, session, id, result);
    }
    if (running !== undefined) {
      session.state = {
        ...session.state,
        agents: { ...session.state.agents, [agent]: { ...running, delegation: id } },
      };
      return;
    }
  }
  if (agent !== undefined && subagent?.isBackground) {
    session.state = { ...session.state, delegations: { ...session.state.delegations, [id]: { ...delegation, agent } } };
    return;
  }
  const failed = !('value' in ending) && !('cancelled' in ending);
  await settleDelegation(context, session, id, {
    failed,
    reason: failed ? readErrorMessage(ending) : '',
    isBooked: false,
  });
}

function readErrorMessage(ending: Ending): string {
  const { message } = ('error' in ending ? ending.error : {}) as { readonly message?: string };
  return message ?? 'it failed';
}

async function settleDelegation(
  { runtime }: HookContext,
  session: LockedSession,
  id: string,
  result: SubagentReturn,
): Promise<void> {
  const { [id]: delegation, ...delegations } = session.state.delegations;
  if (delegation === undefined) return;
  session.state = { ...session.state, delegations };
  const task = await session.loadTask(delegation.task);
  if (task === undefined) return;
  const target = targetFor(runtime, delegation.worker, 'delegation');
  settleDetached(runtime, task.node, target, delegation.permit, { value: '' });
  // The subagent ended with its halted parent and has not failed.
  if (task.node.haltStop !== undefined) return;
  const { failed, reason, isBooked } = result;
  recordDelegation(
    runtime,
    callSiteFor(runtime, target, task.node),
    { booked: isBooked ? new Set(['below']) : undefined },
    { failed, reason },
  );
}
