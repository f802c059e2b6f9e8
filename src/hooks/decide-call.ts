/** Decides on a call before it runs: allow, refuse, wait or ask. The same call always gets the same answer. */

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
import { textForModel } from '../core/messages/model-text.ts';
import type { Refusal } from '../core/refusal.ts';
import type { LimitRaise, Stop } from '../core/verdict.ts';
import { makeWorkerName } from '../guard/entries/delegate.ts';
import { type ProposedCall, proposeDetached, refuseDetached, settleDetached } from '../guard/entries/detached-call.ts';
import { digestHookedCall, publishHookedCall } from '../guard/entries/hooked-calls.ts';
import {
  applyAndCheck,
  declineLimit,
  describeLimit,
  fingerprint,
  isDeclined,
  isObserving,
  limitOwner,
  markValue,
  type Runtime,
  raiseLimit,
  type Target,
  targetFor,
} from '../guard/internal.ts';
import { findOwnTarget } from '../platform/self-protection/own-targets.ts';
import { systemClock, wait } from '../platform/system-clock.ts';
import { uniqueId } from '../platform/unique-id.ts';
import { type CallProposedEvent, type HookDecision, type Payload, pass } from './hosts/hook-event.ts';
import { settleEarlyPrompt } from './prompts.ts';
import { type ApprovedQuestion, askByCard, useApprovals } from './question-card.ts';
import { findOrBeginTask, type HookContext, isHaltedAlone, makeHaltDecision } from './session/hook-tasks.ts';
import { type LoadedTask, type LockedSession, withSessionLock } from './session/session-lock.ts';
import type { OpenCallEdit } from './session/session-state.ts';

/** A proposed call with its id and its mark. */
interface MarkedCall extends CallProposedEvent {
  readonly id: string;
  readonly mark?: string | undefined;
}

/** A decision, or how long to wait and for which card. */
type DecisionOrWait = { readonly decision: HookDecision } | PendingWait;
interface PendingWait {
  readonly waitMs: number;
  readonly card?: string;
}

export async function decideCall(context: HookContext, event: CallProposedEvent): Promise<HookDecision> {
  const call: MarkedCall =
    event.id === undefined ? { ...event, id: uniqueId() } : { ...event, id: event.id, mark: markCall(context, event) };
  for (let round = 0; round < roundsMax; round++) {
    const result = await withSessionLock(context, (session) => decideOnce(context, session, call));
    if ('decision' in result) return result.decision;
    const isAnswered = await waitUnlocked(context, result);
    if (!isAnswered) return { kind: 'deny', reason: pendingReason };
  }
  return { kind: 'deny', reason: 'Not decided yet: wait a moment, and call again.' };
}

/** The mark of a call that the host may propose again. Another input under the same id is another call. */
function markCall({ store }: HookContext, { tool, input }: CallProposedEvent): string | undefined {
  return markValue(store.shared.secret, [tool, input]);
}

/** Whether a recorded call is the proposed one. */
function isSameCall(recorded: { readonly mark?: string | undefined } | undefined, { mark }: MarkedCall): boolean {
  return mark !== undefined && recorded?.mark === mark;
}

const foreignReason = 'This call was not proposed by the host of the session. Ask the person you work for.';
const pendingReason = 'Approval pending: a person has been asked. Call again unchanged to learn the answer.';

async function decideOnce(context: HookContext, session: LockedSession, event: MarkedCall): Promise<DecisionOrWait> {
  const { runtime } = context;
  if (session.source === 'tool') return { decision: { kind: 'deny', reason: foreignReason } };
  if (event.agent === undefined && session.source === 'host')
    await settleEarlyPrompt(context, session, 'call-proposed');
  const task = await findOrBeginTask(context, session, event.agent, event.agentType);
  // The wait for a person is over, so the clocks of the task start again.
  while (task.node.cells.deadline.state.stops > 0)
    applyAndCheck(runtime, task.node, { type: 'task-resumed' }, runtime.clock.nowMs());
  const recorded = task.answers.find((each) => each.id === event.id && isSameCall(each, event));
  if (recorded !== undefined) return { decision: recorded };
  const open = task.open.find((each) => each.id === event.id && isSameCall(each, event));
  if (open?.edit !== undefined) return { decision: await repeatEdit(context, event, open.edit.card) };
  const isEdited = task.open.some((each) => each.id === event.id && isSameCall(each.edit, event));
  if (open !== undefined || isEdited || isSameCall(session.state.delegations[event.id], event))
    return { decision: pass };
  settleLostPatches(context, task, event);
  const call = makeProposedCall(context, task, event);
  const own = findProtected(context, event);
  if (own !== undefined) return { decision: protectOwn(context, task, event, call, own) };
  const proposal = proposeDetached(runtime, task.node, call);
  const result =
    'later' in proposal
      ? await waitOrAsk(context, session, task, event, call, proposal.later)
      : concludeProposal(runtime, session, task, event, call, proposal);
  const admitted = event.isShared ? task.open.find(({ id }) => id === event.id) : undefined;
  if (admitted !== undefined) {
    const input = 'decision' in result && result.decision.kind === 'edit' ? result.decision.input : event.input;
    await publishCall(context, session, { ...event, input }, admitted.permit);
  }
  return result;
}

/** Codex reports no end of a patch that cannot be applied: the next patch shows that it failed. */
function settleLostPatches({ runtime, reportsTurns }: HookContext, task: LoadedTask, { tool, id }: MarkedCall): void {
  if (reportsTurns || tool !== 'apply_patch') return;
  const lost = task.open.filter((open) => open.name === tool && open.id !== id);
  task.open = task.open.filter((open) => !lost.includes(open));
  const error = { name: 'ToolError', message: 'the patch could not be applied' };
  for (const { name, isShared, permit } of lost)
    settleDetached(runtime, task.node, makeCallTarget(runtime, { tool: name, isShared }), permit, { error });
}

/** What a call would change of Switchgear itself, if that is protected. */
function findProtected({ runtime, ownTargets }: HookContext, { tool, input }: CallProposedEvent): string | undefined {
  if (ownTargets === undefined || !runtime.settings.selfProtection || isObserving(runtime)) return undefined;
  return findOwnTarget(tool, input, ownTargets);
}

/** Asks the person at the terminal about a call that would change Switchgear itself; refuses it without one. */
function protectOwn(
  { runtime, isAttended }: HookContext,
  task: LoadedTask,
  event: MarkedCall,
  call: ProposedCall,
  own: string,
): HookDecision {
  const reason = `${event.tool} would use or change ${own}, which only a person may do`;
  if (isAttended) return recordAnswer(task, event, { kind: 'ask', reason: `Switchgear asks: ${reason}` });
  const stop = { kind: 'deny', code: 'rule_abort', control: 'rules', counters: {}, reason } as const;
  return refuseCall(task, event, refuseDetached(runtime, task.node, call, stop));
}

export function makeProposedCall(context: HookContext, { modelTurn }: LoadedTask, event: MarkedCall): ProposedCall {
  const turnId = context.reportsTurns ? String(modelTurn) : undefined;
  return { id: event.id, target: makeCallTarget(context.runtime, event), args: [event.input], turnId };
}

/** The target of a proposed call. The breaker of a built-in tool is per session, that of an MCP tool is shared. */
export function makeCallTarget(
  runtime: Runtime,
  { tool, isShared, delegation, proxyName }: Pick<CallProposedEvent, 'tool' | 'isShared' | 'delegation' | 'proxyName'>,
): Target {
  if (delegation !== undefined)
    return targetFor(runtime, makeWorkerName(delegation.type, delegation.prompt), 'delegation');
  // No process renews a lease between two hooks, so the lease of a probe lasts as long as a tool may run.
  const overrides = { scope: isShared ? 'shared' : 'session', leaseSecs: 600, leaseExpiry: 'neutral' } as const;
  return { name: tool, kind: 'tool', overrides, ...(proxyName && { breakerName: proxyName }) };
}

function concludeProposal(
  runtime: Runtime,
  session: LockedSession,
  task: LoadedTask,
  event: MarkedCall,
  call: ProposedCall,
  proposal: { readonly permit: Permit } | { readonly refusal: Refusal },
  edit?: CallEdit,
): DecisionOrWait {
  if ('refusal' in proposal) return { decision: refuseCall(task, event, proposal.refusal) };
  const replaced = session.state.delegations[event.id];
  if (event.delegation !== undefined && replaced !== undefined) {
    // Another call took the id, so nobody will report the end of the earlier one.
    const target = targetFor(runtime, replaced.worker, 'delegation');
    settleDetached(runtime, task.node, target, replaced.permit, { cancelled: true });
  }
  recordOpenCall(session, task, event, call, proposal.permit, edit?.recorded);
  return { decision: edit === undefined ? pass : { kind: 'edit', input: edit.input } };
}

/** Publishes a call of an MCP tool, so that a proxy in front of the server does not count it again. */
async function publishCall(
  { runtime, host }: HookContext,
  { source }: LockedSession,
  { id, tool, input, proxyName }: MarkedCall,
  permit: Permit | undefined,
  askedRules: readonly string[] = [],
): Promise<void> {
  if (source !== 'host') return;
  const { action, generation, probe } = permit ?? {};
  const by = permit === undefined ? 'the terminal' : action?.approvedBy;
  await publishHookedCall(runtime, {
    ...{ id, tool, host, atMs: runtime.clock.nowMs(), ...(proxyName && { proxyName }) },
    ...(action === undefined
      ? { fingerprint: fingerprint(tool, [input]), isAsked: true }
      : { fingerprint: action.fingerprint }),
    ...(probe && { probe: { id: action!.id, generation: generation! } }),
    ...(by !== undefined && {
      approved: {
        ...{ by, rules: action?.approvedFor?.rules ?? askedRules },
        digest: digestHookedCall(runtime.store, tool, [input]),
      },
    }),
  });
}

/** Stores the permit of a running call until a later hook settles it. */
export function recordOpenCall(
  session: LockedSession,
  task: LoadedTask,
  { id, mark, tool, isShared, delegation, proxyName }: MarkedCall,
  { target }: ProposedCall,
  permit: Permit,
  edit?: OpenCallEdit,
): void {
  if (delegation === undefined) {
    const isForeign = session.source === 'other host';
    const more = { ...(proxyName && { proxyName }), ...(isForeign && { isForeign }), ...(edit && { edit }) };
    task.open = [...task.open, { id, name: tool, isShared, permit, mark, ...more }].slice(-hookCallsMax);
    return;
  }
  const delegations = Object.entries(session.state.delegations).slice(-hookAgentsMax + 1);
  const pendingDelegation = {
    worker: target.name,
    type: delegation.type,
    task: task.node.id,
    agent: null,
    permit,
    mark,
  };
  session.state = { ...session.state, delegations: { ...Object.fromEntries(delegations), [id]: pendingDelegation } };
}

function refuseCall(task: LoadedTask, event: MarkedCall, refusal: Refusal): HookDecision {
  const isHalt = refusal.kind === 'halt' || task.node.halt !== undefined;
  const denial = { kind: 'deny', reason: textForModel(refusal) } as const;
  if (!isHalt) return recordAnswer(task, event, denial);
  const decision = makeHaltDecision(task.node, refusal);
  const closing = `Switchgear halted this task. ${textForModel(refusal)}`;
  // A subagent that is halted alone says why in one closing turn; its next call ends it.
  const told = task.answers.filter(({ kind, reason }) => kind === 'deny' && reason === closing.slice(0, hookReasonMax));
  const isSameTurn = task.modelTurn > 0 && told.every(({ turn }) => turn === task.modelTurn);
  const isClosing = isHaltedAlone(task.node) && (told.length === 0 || isSameTurn);
  return recordAnswer(task, event, isClosing ? { kind: 'deny', reason: closing } : decision);
}

function recordAnswer(
  task: LoadedTask,
  { id, mark }: MarkedCall,
  decision: Extract<HookDecision, { readonly reason: string }>,
): HookDecision {
  const { kind, reason } = decision;
  const recorded = { id, mark, kind, reason: reason.slice(0, hookReasonMax), turn: task.modelTurn };
  task.answers = [...task.answers, recorded].slice(-hookAnswersMax);
  return decision;
}

/** An edit of a call: the input that the host gets, and what is recorded of it. */
interface CallEdit {
  readonly input: Payload;
  readonly recorded: OpenCallEdit;
}

/** Handles a call that must wait or that a person must approve. What a person edited is judged like any other call. */
async function waitOrAsk(
  context: HookContext,
  session: LockedSession,
  task: LoadedTask,
  event: MarkedCall,
  first: ProposedCall,
  firstStop: Stop,
): Promise<DecisionOrWait> {
  const { runtime } = context;
  const approvals: ApprovedQuestion[] = [];
  let [call, stop, edit]: [ProposedCall, Stop, CallEdit | undefined] = [first, firstStop, undefined];
  const deny = (code?: 'rule_declined' | 'rule_unanswered', reason = stop.reason): DecisionOrWait => {
    useApprovals(runtime, approvals);
    const why = { ...stop, ...(reason !== undefined && { reason }) };
    return { decision: refuseCall(task, event, refuseDetached(runtime, task.node, call, why, code)) };
  };
  for (let round = 0; round < roundsMax; round++) {
    const atMs = runtime.clock.nowMs();
    if (stop.kind === 'wait') {
      const waitMs = Math.max(0, (stop.retryAtMs ?? 0) - atMs);
      return waitMs <= hookWaitMaxMs && systemClock.nowMs() + waitMs < context.untilMs ? { waitMs } : deny();
    }
    if (stop.raise !== undefined) return (await askAboutLimit(context, session, task, stop, stop.raise)) ?? deny();
    if (context.isAttended) {
      const cause = stop.reason === undefined ? '' : `: ${stop.reason}`;
      const reason = `Switchgear asks about ${event.tool}${cause}`;
      // The host makes the call only after the person at the terminal approved it.
      if (event.isShared) await publishCall(context, session, event, undefined, stop.rules ?? []);
      return { decision: recordAnswer(task, event, { kind: 'ask', reason }) };
    }
    // The name of a subagent comes from its prompt, so the call that starts it runs as it is.
    const edits = event.delegation === undefined ? context.inputEdits : undefined;
    const question = await askByCard(runtime, task.node, event.tool, call.args, stop, edits);
    if ('refusalCode' in question) return deny(question.refusalCode, question.reason);
    if ('open' in question) return waitForAnswer(context, session, task, question.open);
    approvals.push(question);
    edit = question.edit === undefined ? edit : makeEdit(context, event, question.card, question.edit.input);
    const approvedRules = approvals.flatMap((each) => each.stop.rules ?? []);
    call = { ...call, args: [edit?.input ?? event.input], approvedBy: question.by, approvedRules };
    const own = edit && findProtected(context, { ...event, input: edit.input });
    if (own !== undefined) {
      useApprovals(runtime, approvals);
      return { decision: protectOwn(context, task, event, call, own) };
    }
    const proposal = proposeDetached(runtime, task.node, call);
    if (!('later' in proposal)) {
      useApprovals(runtime, approvals, 'permit' in proposal ? edit?.recorded.card : undefined);
      return concludeProposal(runtime, session, task, event, call, proposal, edit);
    }
    stop = proposal.later;
  }
  return deny();
}

function makeEdit(context: HookContext, event: MarkedCall, card: string, input: Payload): CallEdit {
  const mark = markCall(context, { ...event, input });
  return { input, recorded: { card, mark, fingerprint: fingerprint(event.tool, [event.input]) } };
}

/** The answer to an edited call that the host proposes again: the same input. */
async function repeatEdit(
  { runtime, inputEdits }: HookContext,
  event: MarkedCall,
  card: string,
): Promise<HookDecision> {
  const { readEditedInput } = await import('./edited-input.ts');
  const edit = await readEditedInput(runtime, card, [event.input], inputEdits);
  return 'input' in edit ? { kind: 'edit', input: edit.input } : { kind: 'deny', reason: edit.reason };
}

/**
 * Asks through the inbox whether a limit may be raised: calls at the same limit find the same card. After an approval
 * the call is judged again; undefined if the limit stays.
 */
async function askAboutLimit(
  context: HookContext,
  session: LockedSession,
  task: LoadedTask,
  stop: Stop,
  raise: LimitRaise,
): Promise<PendingWait | undefined> {
  const { runtime } = context;
  const owner = limitOwner(task.node, stop);
  if (isDeclined(owner, raise)) return undefined;
  const { name, title, reason, args } = describeLimit(owner, raise);
  const question = await askByCard(runtime, owner, name, args, { ...stop, reason }, undefined, title);
  if ('open' in question) return waitForAnswer(context, session, task, question.open);
  if ('refusalCode' in question) {
    declineLimit(owner, raise);
    return undefined;
  }
  useApprovals(runtime, [question]);
  raiseLimit(runtime, owner, raise, question.by);
  return { waitMs: 0 };
}

/** Waits for the answer to a card. The clocks of the task stop while a person is asked. */
function waitForAnswer(context: HookContext, session: LockedSession, task: LoadedTask, card: string): PendingWait {
  const { runtime } = context;
  recordQuestion(session, card, task.node.id);
  applyAndCheck(runtime, task.node, { type: 'task-stopped' }, runtime.clock.nowMs());
  return { waitMs: Math.max(0, context.untilMs - systemClock.nowMs()), card };
}

/** Remembers a question, so that a later hook can end it with its task. */
function recordQuestion(session: LockedSession, card: string, task: string): void {
  const { questions = {} } = session.state;
  if (Object.hasOwn(questions, card)) return;
  const kept = Object.entries(questions).slice(-hookCallsMax + 1);
  session.state = { ...session.state, questions: { ...Object.fromEntries(kept), [card]: task } };
}

/** Waits without the lock of the session; returns false if a person has not answered in time. */
async function waitUnlocked({ store }: HookContext, { waitMs, card }: PendingWait): Promise<boolean> {
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
