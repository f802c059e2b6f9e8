/** Says what the answer to a card has done, from what the store has now. */

import type { StandingApproval } from '../../chains/run/approval/standing-approval.ts';
import { isOver } from '../../chains/run/state/transitions.ts';
import { loadRun } from '../../chains/run/storage/runs.ts';
import type { Card } from '../../core/card.ts';
import { microsPerCent } from '../../core/controls/budget/budget.ts';
import { toCamelCase } from '../../core/names.ts';
import { formatCents } from '../../core/quote.ts';
import type { TaskSettings } from '../../core/settings.ts';
import { type LiveTask, livePrefix } from '../../ports/published-tasks.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { type RunRecord, readRuns } from '../../supervisor/run-record.ts';
import { overText } from '../cards.ts';
import { readStandingApprovals } from '../standing.ts';
import type { CardHistory } from './card-history.ts';

/** What an answer has done. */
export interface Effect {
  /** One sentence for a person. */
  readonly sentence: string;
  /** Whether the answer still changes what may happen. */
  readonly isInForce: boolean;
}

/** Describes the effects of answered or expired cards; undefined for open ones. */
export type EffectReader = (card: Card) => Promise<Effect | undefined>;

/** The most published tasks that are read. */
const tasksMax = 10_000;

/** Creates a reader of effects; what several cards need is read once. */
export function createEffectReader(store: CrossProcessStore, history: CardHistory): EffectReader {
  let runs: Promise<readonly RunRecord[]> | undefined;
  let tasks: Promise<readonly LiveTask[]> | undefined;
  let standing: Promise<readonly StandingApproval[]> | undefined;
  const findPausedRun = async (task: string) => {
    runs ??= readRuns(store);
    return (await runs).find((run) => run.task === task && run.state === 'paused');
  };
  const findTask = async (id: string) => {
    tasks ??= store.shared
      .read(livePrefix, tasksMax)
      .then((rows) => rows.flatMap(({ state }) => (state as LiveTask) ?? []));
    return (await tasks).find((task) => task.id === id);
  };
  const findStanding = async ({ step }: Card) => {
    standing ??= readStandingApprovals(store);
    return (await standing).find((each) => each.chain === step?.chain && each.step === step.id);
  };

  async function describeRetry(card: Card, who: string): Promise<Effect> {
    const { raise, raisedTo = raise?.suggested, counters } = card;
    const what = raise === undefined ? 'had the task tried again' : `raised ${raise.setting} to ${raisedTo}`;
    const retry = history.retries.get(card.task);
    if (retry === undefined) return { sentence: `${who} ${what}: it has not been started again yet.`, isInForce: true };
    const name = toCamelCase(raise?.setting.slice('task.'.length) ?? '') as keyof TaskSettings;
    const limit = retry.limits[name];
    if (raise === undefined || typeof limit !== 'number')
      return { sentence: `${who} ${what}: it runs again.`, isInForce: true };
    const live = await findTask(retry.task);
    const used = (live && readUse(live, name)) ?? counters.actual ?? 0;
    const isMoney = name === 'maxSpendCents';
    const now = isMoney ? `${formatCents(Number(used))} of ${formatCents(limit)}` : `${used} of ${limit}`;
    return { sentence: `${who} ${what}: now ${now}.`, isInForce: true };
  }

  async function describeApproval(card: Card, who: string): Promise<Effect> {
    const { state, step, answer } = card;
    const how = answer === 'approve_edited' ? 'approved it with other arguments' : 'approved it once';
    if (step !== undefined) return describeChainApproval(card, who, how);
    return state === 'used'
      ? { sentence: `${who} ${how}: the call has taken the approval.`, isInForce: false }
      : { sentence: `${who} ${how}: the call has not run yet.`, isInForce: true };
  }

  async function describeChainApproval(card: Card, who: string, how: string): Promise<Effect> {
    const { step, answer } = card;
    const run = await loadRun(store, step!.run).catch((): undefined => undefined);
    const isDone = run === undefined || isOver(run);
    const state = run === undefined ? 'the run is gone' : `the run is ${run.status}`;
    if (answer === 'approve_always') {
      const approval = await findStanding(card);
      const isInForce = approval !== undefined;
      const now = isInForce
        ? `standing approval ${approval.id} holds until it is revoked`
        : `${state}; no standing approval is left`;
      return { sentence: `${who} approved it always: ${now}.`, isInForce };
    }
    if (answer === 'approve_run') return { sentence: `${who} approved it for the run: ${state}.`, isInForce: !isDone };
    return { sentence: `${who} ${how}: ${state}.`, isInForce: !isDone && run.card === card.id };
  }

  return async (card) => {
    const { state, answer, by: who = 'somebody', note } = card;
    if (state === 'open') return undefined;
    const words = note === undefined ? '' : `: “${note}”`;
    switch (answer) {
      case undefined:
        return { sentence: describeEnd(card), isInForce: false };
      case 'approve':
      case 'approve_edited':
      case 'approve_run':
      case 'approve_always':
        return describeApproval(card, who);
      case 'decline':
        return { sentence: `${who} declined it${words}.`, isInForce: false };
      case 'retry_raised':
        return describeRetry(card, who);
      case 'narrow_scope': {
        const isBack = history.retries.has(card.task);
        return { sentence: `${who} narrowed the request${isBack ? ': it runs again' : ''}.`, isInForce: false };
      }
      case 'pause': {
        const isPaused = (await findPausedRun(card.task)) !== undefined;
        const now = isPaused ? `: it goes on with switchgear resume ${card.task}` : '';
        return { sentence: `${who} paused it${now}.`, isInForce: isPaused };
      }
      case 'replan':
        return { sentence: `${who} handed it back for a new plan${words}.`, isInForce: false };
      case 'dismiss':
        return { sentence: `${who} dismissed it${words}.`, isInForce: false };
    }
  };
}

/** How a card ended that nobody answered: an alert closes when its cause is over. */
function describeEnd({ kind, evidence }: Card): string {
  if (kind !== 'notice') return 'Nobody answered in time: it was not approved.';
  return `${evidence.findLast((line) => line.startsWith(overText)) ?? 'It is over'}.`;
}

function readUse({ calls, tokens, micros }: LiveTask, name: keyof TaskSettings): number | undefined {
  if (name === 'maxToolCalls') return calls;
  if (name === 'maxTokens') return tokens;
  return name === 'maxSpendCents' ? micros / microsPerCent : undefined;
}
