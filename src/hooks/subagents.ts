/** Errands: a call that sends a subagent out is settled when that one comes back, and its failure is booked once. */

import type { Ending } from '../core/classify.ts';
import { hookAgentsMax } from '../core/limits.ts';
import { recordDelegation } from '../guard/entries/delegate.ts';
import { settleDetached } from '../guard/entries/detached-call.ts';
import { callSiteFor, targetFor } from '../guard/route/call-site.ts';
import type { CallEndedEvent } from './hosts/hook-event.ts';
import type { HookWorld } from './session/hook-tasks.ts';
import type { Errand, Return } from './session/session-state.ts';
import type { Desk } from './session/session-turn.ts';

/** A subagent is over. Whose errand it was may be told later. */
export async function endAgent(world: HookWorld, desk: Desk, id: string, isFailed: boolean): Promise<void> {
  const agent = desk.state.agents[id];
  if (agent === undefined) return;
  const task = await desk.task(agent.task);
  const halted = task?.node.halt;
  const failed = isFailed || halted !== undefined;
  const reason = halted?.message ?? (isFailed ? 'it failed' : '');
  const result: Return = { failed, reason, isBooked: (task?.node.booked?.size ?? 0) > 0 };
  await desk.end(agent.task, failed ? 'error' : 'done');
  const { [id]: _, ...agents } = desk.state.agents;
  desk.state = { ...desk.state, agents };
  if (agent.errand !== null) await settleErrand(world, desk, agent.errand, result);
  else {
    const returned = Object.entries(desk.state.returned).slice(-hookAgentsMax + 1);
    desk.state = { ...desk.state, returned: { ...Object.fromEntries(returned), [id]: result } };
  }
  await endOlder(desk, agent.root);
}

/** A task that a newer one took the place of is over with its last subagent. */
async function endOlder(desk: Desk, root: string): Promise<void> {
  const { older, agents } = desk.state;
  if (!older.includes(root) || Object.values(agents).some((agent) => agent.root === root)) return;
  await desk.end(root, 'done');
  desk.state = { ...desk.state, older: older.filter((each) => each !== root) };
}

/** The call of an errand came back: by itself at once, or with the subagent. */
export async function errandReturned(world: HookWorld, desk: Desk, event: CallEndedEvent): Promise<void> {
  const { id = '', ending, sent } = event;
  const errand = desk.state.errands[id];
  if (errand === undefined) return;
  const agent = sent?.agent;
  if (agent !== undefined) {
    const { [agent]: result, ...returned } = desk.state.returned;
    const out = desk.state.agents[agent];
    if (result !== undefined) {
      desk.state = { ...desk.state, returned };
      return settleErrand(world, desk, id, result);
    }
    if (out !== undefined) {
      desk.state = { ...desk.state, agents: { ...desk.state.agents, [agent]: { ...out, errand: id } } };
      return;
    }
  }
  if (agent !== undefined && sent?.goesOn) {
    desk.state = { ...desk.state, errands: { ...desk.state.errands, [id]: { ...errand, agent } } };
    return;
  }
  const failed = !('value' in ending) && !('cancelled' in ending);
  await settleErrand(world, desk, id, { failed, reason: failed ? wordsOf(ending) : '', isBooked: false });
}

function wordsOf(ending: Ending): string {
  const { message } = ('error' in ending ? ending.error : {}) as { readonly message?: string };
  return message ?? 'it failed';
}

async function settleErrand({ runtime }: HookWorld, desk: Desk, id: string, result: Return): Promise<void> {
  const { [id]: errand, ...errands } = desk.state.errands as Readonly<Record<string, Errand>>;
  if (errand === undefined) return;
  desk.state = { ...desk.state, errands };
  const task = await desk.task(errand.task);
  if (task === undefined) return;
  const target = targetFor(runtime, errand.worker, 'delegation');
  settleDetached(runtime, task.node, target, errand.permit, { value: '' });
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
