/** A call before it runs: let through, refused, made to wait, or asked about; the same answer under the same id. */

import { makeWorkerName } from '../agents/accounting/subagent-tasks.ts';
import type { Permit } from '../core/action.ts';
import {
  answerPollMs,
  hookAgentsMax,
  hookAnswersMax,
  hookCallsMax,
  hookReasonMax,
  hookWaitMaxMs,
  roundsMax,
} from '../core/limits.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Stop } from '../core/verdict.ts';
import { type ProposedCall, proposeDetached, refuseDetached } from '../guard/entries/detached-call.ts';
import { applyAndCheck, fingerprint, type Runtime, type Target, targetFor } from '../guard/internal.ts';
import { systemClock, wait } from '../platform/system-clock.ts';
import { uniqueId } from '../platform/unique-id.ts';
import { type CallProposedEvent, type HookDecision, pass } from './hosts/hook-event.ts';
import { ask } from './question-card.ts';
import { findOrBeginTask, type HookContext, haltRootTask, makeHaltDecision } from './session/hook-tasks.ts';
import { type LoadedTask, runInTurn, type SessionTurn } from './session/session-turn.ts';

/** An answer, or until when to come back, and for which card. */
type Said = { readonly decision: HookDecision } | Later;
interface Later {
  readonly waitMs: number;
  readonly card?: string;
}

export async function decideCall(context: HookContext, event: CallProposedEvent): Promise<HookDecision> {
  const id = event.id ?? uniqueId();
  for (let round = 0; round < roundsMax; round++) {
    const said = await runInTurn(context, (turn) => say(context, turn, { ...event, id }));
    if ('decision' in said) return said.decision;
    const isAnswered = await waitFor(context, said);
    if (!isAnswered) return { kind: 'deny', reason: pending };
  }
  return { kind: 'deny', reason: 'Not decided yet: wait a moment, and call again.' };
}

const pending = 'Approval pending: a person has been asked. Call again unchanged to learn the answer.';

async function say(
  context: HookContext,
  turn: SessionTurn,
  event: CallProposedEvent & { readonly id: string },
): Promise<Said> {
  const { runtime } = context;
  const task = await findOrBeginTask(context, turn, event.agent, event.agentType);
  // Somebody was asked meanwhile: the clocks go on.
  while (task.node.cells.deadline.state.stops > 0)
    applyAndCheck(runtime, task.node, { type: 'task-resumed' }, runtime.clock.nowMs());
  const given = task.answers.find(({ id }) => id === event.id);
  if (given !== undefined) return { decision: given };
  if (task.open.some(({ id }) => id === event.id) || turn.state.errands[event.id] !== undefined)
    return { decision: pass };
  const call = callOf(context, task, event);
  const answered = proposeDetached(runtime, task.node, call);
  const said =
    'later' in answered
      ? later(context, turn, task, event, call, answered.later)
      : settled(turn, task, event, call, answered);
  haltRootTask(context, task, event.tool);
  return said;
}

export function callOf(
  context: HookContext,
  { round }: LoadedTask,
  event: CallProposedEvent & { readonly id: string },
): ProposedCall {
  const turnId = context.reportsTurns ? String(round) : undefined;
  return { id: event.id, target: targetOf(context.runtime, event), args: [event.input], turnId };
}

/** What is called. A tool of the agent's own is down for this session at most, one of a server for everybody. */
export function targetOf(
  runtime: Runtime,
  { tool, isShared, delegation }: Pick<CallProposedEvent, 'tool' | 'isShared' | 'delegation'>,
): Target {
  if (delegation !== undefined)
    return targetFor(runtime, makeWorkerName(delegation.type, delegation.prompt), 'delegation');
  // Nobody renews a lease between two hooks: a probe may take as long as a tool may.
  const overrides = { scope: isShared ? 'shared' : 'session', leaseSecs: 600, leaseExpiry: 'neutral' } as const;
  return { name: tool, kind: 'tool', overrides };
}

function settled(
  turn: SessionTurn,
  task: LoadedTask,
  event: CallProposedEvent & { readonly id: string },
  call: ProposedCall,
  answered: { readonly permit: Permit } | { readonly refusal: Refusal },
): Said {
  if ('refusal' in answered) return { decision: refused(task, event.id, answered.refusal) };
  keep(turn, task, event, call, answered.permit);
  return { decision: pass };
}

/** Keeps the permit of a call that runs, until somebody says how it ended. */
export function keep(
  turn: SessionTurn,
  task: LoadedTask,
  { id, tool, isShared, delegation }: CallProposedEvent & { readonly id: string },
  { target }: ProposedCall,
  permit: Permit,
): void {
  if (delegation === undefined) {
    task.open = [...task.open, { id, name: tool, isShared, permit }].slice(-hookCallsMax);
    return;
  }
  const delegations = Object.entries(turn.state.errands).slice(-hookAgentsMax + 1);
  const pendingDelegation = { worker: target.name, type: delegation.type, task: task.node.id, agent: null, permit };
  turn.state = { ...turn.state, errands: { ...Object.fromEntries(delegations), [id]: pendingDelegation } };
}

function refused(task: LoadedTask, id: string, refusal: Refusal): HookDecision {
  const isHalt = refusal.kind === 'halt' || task.node.halt !== undefined;
  const denied = { kind: 'deny', reason: `${refusal.message}. ${refusal.remediation}` } as const;
  return answer(task, id, isHalt ? makeHaltDecision(task.node, refusal) : denied);
}

function answer(
  task: LoadedTask,
  id: string,
  decision: Extract<HookDecision, { readonly reason: string }>,
): HookDecision {
  const { kind, reason } = decision;
  task.answers = [...task.answers, { id, kind, reason: reason.slice(0, hookReasonMax) }].slice(-hookAnswersMax);
  return decision;
}

/** It has to wait, or a person has to be asked. */
function later(
  context: HookContext,
  turn: SessionTurn,
  task: LoadedTask,
  event: CallProposedEvent & { readonly id: string },
  call: ProposedCall,
  stop: Stop,
): Said {
  const { runtime } = context;
  const atMs = runtime.clock.nowMs();
  const no = (code?: 'rule_declined' | 'rule_unanswered'): Said => ({
    decision: refused(task, event.id, refuseDetached(runtime, task.node, call, stop, code)),
  });
  if (stop.kind === 'wait') {
    const waitMs = Math.max(0, (stop.retryAtMs ?? 0) - atMs);
    return waitMs <= hookWaitMaxMs && systemClock.nowMs() + waitMs < context.untilMs ? { waitMs } : no();
  }
  if (context.isAttended) {
    const why = stop.reason === undefined ? '' : `: ${stop.reason}`;
    return { decision: answer(task, event.id, { kind: 'ask', reason: `Switchgear asks about ${event.tool}${why}` }) };
  }
  const asked = ask(runtime, task.node, event.tool, fingerprint(event.tool, [event.input]), stop);
  if ('no' in asked) return no(asked.no);
  if ('open' in asked) {
    // Its clocks stand still while a person is asked.
    applyAndCheck(runtime, task.node, { type: 'task-stopped' }, atMs);
    return { waitMs: Math.max(0, context.untilMs - systemClock.nowMs()), card: asked.open };
  }
  const approved = { ...call, approvedBy: asked.by };
  const again = proposeDetached(runtime, task.node, approved);
  return 'later' in again ? no() : settled(turn, task, event, approved, again);
}

/** Waits outside the turn; false where a person has not answered in time. */
async function waitFor({ store }: HookContext, { waitMs, card }: Later): Promise<boolean> {
  const untilMs = systemClock.nowMs() + waitMs;
  for (;;) {
    const leftMs = untilMs - systemClock.nowMs();
    if (leftMs <= 0) return card === undefined;
    await wait(systemClock, Math.min(leftMs, card === undefined ? leftMs : answerPollMs / 4));
    if (card === undefined) continue;
    store.shared.refresh();
    const { state, expiresAtMs = Number.POSITIVE_INFINITY } = store.card(card) ?? {};
    if (state !== 'open' || store.clock.nowMs() >= expiresAtMs) return true;
  }
}
