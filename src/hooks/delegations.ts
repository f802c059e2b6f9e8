/** Errands: a call that sends a subagent out is settled when that one comes back, and its failure is booked once. */

import type { Ending } from '../core/classify.ts';
import { hookAgentsMax } from '../core/limits.ts';
import { recordDelegation } from '../guard/entries/delegate.ts';
import { settleDetached } from '../guard/entries/detached-call.ts';
import { callSiteFor, targetFor } from '../guard/internal.ts';
import type { CallEndedEvent } from './hosts/hook-event.ts';
import type { HookContext } from './session/hook-tasks.ts';
import type { PendingDelegation, SubagentReturn } from './session/session-state.ts';
import type { SessionTurn } from './session/session-turn.ts';

/** A subagent is over. Whose errand it was may be told later. */
export async function endSubagent(
  context: HookContext,
  turn: SessionTurn,
  id: string,
  isFailed: boolean,
): Promise<void> {
  const agent = turn.state.agents[id];
  if (agent === undefined) return;
  const task = await turn.loadTask(agent.task);
  const halted = task?.node.halt;
  const failed = isFailed || halted !== undefined;
  const reason = halted?.message ?? (isFailed ? 'it failed' : '');
  const result: SubagentReturn = { failed, reason, isBooked: (task?.node.booked?.size ?? 0) > 0 };
  await turn.endTask(agent.task, failed ? 'error' : 'done');
  const { [id]: _, ...agents } = turn.state.agents;
  turn.state = { ...turn.state, agents };
  if (agent.errand !== null) await settleDelegation(context, turn, agent.errand, result);
  else {
    const returned = Object.entries(turn.state.returned).slice(-hookAgentsMax + 1);
    turn.state = { ...turn.state, returned: { ...Object.fromEntries(returned), [id]: result } };
  }
  await endOlder(turn, agent.root);
}

/** A task that a newer one took the place of is over with its last subagent. */
async function endOlder(turn: SessionTurn, root: string): Promise<void> {
  const { older, agents } = turn.state;
  if (!older.includes(root) || Object.values(agents).some((agent) => agent.root === root)) return;
  await turn.endTask(root, 'done');
  turn.state = { ...turn.state, older: older.filter((each) => each !== root) };
}

/** The call of an errand came back: by itself at once, or with the subagent. */
export async function handleDelegationEnd(
  context: HookContext,
  turn: SessionTurn,
  event: CallEndedEvent,
): Promise<void> {
  const { id = '', ending, subagent } = event;
  const delegation = turn.state.errands[id];
  if (delegation === undefined) return;
  const agent = subagent?.agent;
  if (agent !== undefined) {
    const { [agent]: result, ...returned } = turn.state.returned;
    const running = turn.state.agents[agent];
    if (result !== undefined) {
      turn.state = { ...turn.state, returned };
      return settleDelegation(context, turn, id, result);
    }
    if (running !== undefined) {
      turn.state = { ...turn.state, agents: { ...turn.state.agents, [agent]: { ...running, errand: id } } };
      return;
    }
  }
  if (agent !== undefined && subagent?.isBackground) {
    turn.state = { ...turn.state, errands: { ...turn.state.errands, [id]: { ...delegation, agent } } };
    return;
  }
  const failed = !('value' in ending) && !('cancelled' in ending);
  await settleDelegation(context, turn, id, {
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
  turn: SessionTurn,
  id: string,
  result: SubagentReturn,
): Promise<void> {
  const { [id]: delegation, ...delegations } = turn.state.errands as Readonly<Record<string, PendingDelegation>>;
  if (delegation === undefined) return;
  turn.state = { ...turn.state, errands: delegations };
  const task = await turn.loadTask(delegation.task);
  if (task === undefined) return;
  const target = targetFor(runtime, delegation.worker, 'delegation');
  settleDetached(runtime, task.node, target, delegation.permit, { value: '' });
  // It ended along with those above it, and has not failed.
  if (task.node.haltStop !== undefined) return;
  const { failed, reason, isBooked } = result;
  recordDelegation(
    runtime,
    callSiteFor(runtime, target, task.node),
    { booked: isBooked ? new Set(['below']) : undefined },
    { failed, reason },
  );
}
