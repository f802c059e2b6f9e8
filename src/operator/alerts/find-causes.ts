/** Finds everything in a store that is beyond the threshold of an alert. */

import type { Card } from '../../core/card.ts';
import { microsPerCent } from '../../core/controls/budget/budget.ts';
import { publishedTasksMax } from '../../core/limits.ts';
import { describeOpening } from '../../core/messages/entry-words.ts';
import { formatCents, formatTimeSpan } from '../../core/quote.ts';
import type { AlertSettings } from '../../core/settings.ts';
import { type LiveTask, livePrefix } from '../../ports/published-tasks.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { isSupervised, readRuns } from '../../supervisor/run-record.ts';
import type { StoredBreaker } from '../board/answers.ts';
import { readStoredBreakers } from '../breakers.ts';
import { formatBudget, readStoredBudgets, type StoredBudget } from '../budgets.ts';
import { isOpen, readCards } from '../cards.ts';
import { formatCount, sanitizeText } from '../format.ts';
import type { CardHistory } from '../inbox/card-history.ts';
import { type AlertWebhook, alertCausesMax } from './alert-cells.ts';
import { readWebhookProgress } from './read-alerts.ts';
import { type AlertName, webhookFailuresMin } from './rules.ts';

/** Something beyond a threshold. */
export interface AlertCause {
  readonly rule: AlertName;
  /** Equal for the same cause in every evaluation. */
  readonly key: string;
  readonly subject: string;
  readonly value: number;
  readonly limit: number;
  /** What happened and where to look, in sentences. */
  readonly evidence: readonly string[];
  readonly task?: string;
  /** Whether the cause fires again after a period if it lasts and its card was dismissed. */
  readonly repeats: boolean;
  /** A card that reports this already. */
  readonly card?: Card;
}

/** What causes are found in, and with which thresholds. */
export interface CauseSources {
  readonly store: CrossProcessStore;
  readonly settings: AlertSettings;
  readonly webhooks: readonly AlertWebhook[];
  readonly readCardHistory: () => Promise<CardHistory>;
}

/** Characters of a name in an alert. */
const nameMax = 200;

/** Finds all causes; at most 200, the rest is counted in one more. */
export async function findCauses(sources: CauseSources): Promise<readonly AlertCause[]> {
  const { store, settings } = sources;
  const cards = await readCards(store);
  const causes = [
    ...(await findInboxCause(sources, cards)),
    ...(await findTaskCauses(store, settings, cards)),
    ...(await readStoredBudgets(store)).flatMap((budget) => findBudgetCauses(budget, settings, cards)),
    ...(await readStoredBreakers(store)).flatMap((breaker) => findBreakerCauses(breaker, settings)),
    ...(await findWebhookCauses(sources)),
  ];
  if (causes.length <= alertCausesMax) return causes;
  const { rule, value, limit } = causes[alertCausesMax]!;
  const more = causes.length - alertCausesMax;
  const evidence = [`${more} more alerts are not shown: look at /metrics or switchgear status`];
  return [
    ...causes.slice(0, alertCausesMax),
    { rule, key: 'more', subject: `${more} more`, value, limit, evidence, repeats: true },
  ];
}

function findBreakerCauses(breaker: StoredBreaker, settings: AlertSettings): readonly AlertCause[] {
  const { key, tripsPerHour, failureRate, openMs, held, state, cause } = breaker;
  const subject = nameOf(breaker);
  const causes: AlertCause[] = [];
  const look = `Look: switchgear status, or the view Breakers`;
  if (tripsPerHour > settings.tripsPerHour)
    causes.push({
      ...{ rule: 'BreakerTrips', key, subject, value: tripsPerHour, limit: settings.tripsPerHour, repeats: true },
      evidence: [`${subject} tripped ${tripsPerHour} times in the last hour, more than ${settings.tripsPerHour}`, look],
    });
  if (failureRate !== undefined && failureRate > settings.failureRate) {
    const share = `${Math.round(failureRate * 100)} %`;
    causes.push({
      ...{ rule: 'FailureRate', key, subject, value: failureRate, limit: settings.failureRate, repeats: true },
      evidence: [
        `${share} of the calls of ${subject} fail, more than ${Math.round(settings.failureRate * 100)} %`,
        look,
      ],
    });
  }
  if (state !== 'CLOSED' && openMs > settings.timeInOpenSecs * 1000) {
    const why = held ? 'held by hand' : sanitizeText(describeOpening(cause)).slice(0, nameMax);
    causes.push({
      ...{ rule: 'BreakerOpen', key, subject, value: openMs / 1000, limit: settings.timeInOpenSecs, repeats: true },
      evidence: [`${subject} has been open for ${formatTimeSpan(openMs)}${why === '' ? '' : `: ${why}`}`, look],
    });
  }
  return causes;
}

function nameOf({ name, scope, of }: StoredBreaker): string {
  const owner = of === '' ? '' : ` of the ${scope} ${of}`;
  return sanitizeText(`${name}${owner}`).slice(0, nameMax);
}

/** The higher of the two thresholds that is reached; a budget has one alert at a time. */
function findBudgetRule(share: number, { spendShare, spendShareHigh }: AlertSettings) {
  if (share >= spendShareHigh) return { rule: 'BudgetBurn95', limit: spendShareHigh } as const;
  return share >= spendShare ? ({ rule: 'BudgetBurn80', limit: spendShare } as const) : undefined;
}

function findBudgetCauses(
  budget: StoredBudget,
  settings: AlertSettings,
  cards: readonly Card[],
): readonly AlertCause[] {
  const { key, used, limit = 0, scope, of } = budget;
  const share = limit > 0 ? used / limit : 0;
  const reached = findBudgetRule(share, settings);
  if (reached === undefined) return [];
  const subject = sanitizeText(`the budget of the ${scope}${of === undefined ? '' : ` ${of}`}`).slice(0, nameMax);
  const [amount, window] = formatBudget(budget);
  const evidence = [
    `${subject}: ${amount}${window === '' ? '' : ` ${window}`} used, ${Math.floor(share * 100)} %`,
    'At 100 % the calls of this scope are refused.',
  ];
  const card = findBudgetNotice(cards, budget, reached.rule === 'BudgetBurn95');
  const found = { ...reached, key: `${key}/${limit}`, subject, value: share, evidence, repeats: false };
  return [{ ...found, ...(card && { card }) }];
}

async function findTaskCauses(
  { shared }: CrossProcessStore,
  settings: AlertSettings,
  cards: readonly Card[],
): Promise<readonly AlertCause[]> {
  const rows = await shared.read(livePrefix, publishedTasksMax);
  return rows.flatMap(({ state }): readonly AlertCause[] => {
    const task = state as LiveTask | null;
    if (typeof task?.owner !== 'string' || (task.state !== 'running' && task.state !== 'paused')) return [];
    const { maxSpendCents } = task.limits;
    const cents = task.micros / microsPerCent;
    const reached = findBudgetRule(cents / maxSpendCents, settings);
    if (reached === undefined) return [];
    const subject = sanitizeText(`task ${task.id} of ${task.agent}`).slice(0, nameMax);
    const share = Math.floor((cents / maxSpendCents) * 100);
    const card = findSpendNotice(cards, task.id, maxSpendCents, reached.rule === 'BudgetBurn95');
    const evidence = [
      `${subject} spent ${formatCents(cents)} of ${formatCents(maxSpendCents)}, ${share} %`,
      'At 100 % the task halts.',
    ];
    const key = `${task.id}/${maxSpendCents}`;
    return [
      {
        ...reached,
        key,
        subject,
        value: cents / maxSpendCents,
        evidence,
        task: task.id,
        repeats: false,
        ...(card && { card }),
      },
    ];
  });
}

/** The notice that a task opened about its spend itself. */
function findSpendNotice(cards: readonly Card[], task: string, limit: number, isHigh: boolean): Card | undefined {
  return cards.find(
    (card) =>
      card.kind === 'notice' &&
      card.task === task &&
      card.counters.limit === limit &&
      (card.risk === 'medium') === isHigh &&
      card.evidence[0]?.includes(': spend cents: ') === true,
  );
}

/** The notice that a process opened about a budget of several tasks. */
function findBudgetNotice(
  cards: readonly Card[],
  { scope, unit, windowSecs, limit, of }: StoredBudget,
  isHigh: boolean,
): Card | undefined {
  return cards.find(
    ({ kind, state, risk, counters }) =>
      kind === 'notice' &&
      state === 'open' &&
      (risk === 'medium') === isHigh &&
      counters.scope === scope &&
      counters.unit === unit &&
      counters.limit === limit &&
      counters.of === of &&
      counters.window_secs === windowSecs,
  );
}

/** Agents that wait: questions, and halted runs whose process waits for an answer. */
async function findInboxCause(
  { store, settings, readCardHistory }: CauseSources,
  cards: readonly Card[],
): Promise<readonly AlertCause[]> {
  const atMs = store.clock.nowMs();
  const runs = (await readRuns(store)).filter((run) => run.state === 'waiting' && isSupervised(run, store));
  const halts = new Set(runs.map(({ card }) => card));
  const isWaiting = (card: Card) => isOpen(card, atMs) && (card.kind === 'ask' || halts.has(card.id));
  // A person who put a card off knows it.
  const waiting = cards.filter((card) => isWaiting(card) && !((card.snoozedUntilMs ?? 0) > atMs));
  if (waiting.length === 0) return [];
  const { times } = await readCardHistory();
  const nowMs = store.clock.wallMs();
  const openedMs = ({ id, openedWallMs }: Card) => openedWallMs ?? times.get(id)?.openedWallMs ?? nowMs;
  const ages = waiting.map((card) => nowMs - openedMs(card));
  const longest = Math.max(...ages);
  if (longest <= settings.waitingSecs * 1000) return [];
  const stale = ages.filter((age) => age > settings.waitingSecs * 1000).length;
  const oldest = waiting[ages.indexOf(longest)]!;
  const evidence = [
    `${formatCount(stale, 'agent')} waiting for an answer, the longest for ${formatTimeSpan(longest)}`,
    `The oldest ${oldest.kind === 'ask' ? 'question' : 'halt'} is ${sanitizeText(oldest.id)}: switchgear inbox`,
  ];
  return [
    {
      ...{ rule: 'InboxStale', key: 'inbox', subject: 'the inbox', value: longest / 1000, limit: settings.waitingSecs },
      evidence,
      task: oldest.task,
      repeats: true,
    },
  ];
}

async function findWebhookCauses({ store, webhooks }: CauseSources): Promise<readonly AlertCause[]> {
  if (webhooks.length === 0) return [];
  const progress = await readWebhookProgress(store);
  return webhooks.flatMap(({ name, host, problem }): readonly AlertCause[] => {
    const { failures = 0, deliveries = [] } = progress.get(name) ?? {};
    if (problem === undefined && failures < webhookFailuresMin) return [];
    const why = problem ?? `${host}: ${deliveries[0]?.detail ?? 'no answer'}`;
    const evidence = [`the webhook ${name} does not work: ${why}`, `Try it with: switchgear alerts test ${name}`];
    return [
      {
        ...{ rule: 'WebhookFailing', key: name, subject: name, value: failures, limit: webhookFailuresMin },
        evidence,
        repeats: true,
      },
    ];
  });
}
