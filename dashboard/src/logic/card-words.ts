/** What a card says: its headline, its reasons, its arguments, and the words of its answers. */

import type { CardAction } from '../../../src/core/card.ts';
import { formatQuantity, formatUsage, plainSentence } from './format.ts';
import type { CardCounter, PageCard } from './inbox-model.ts';

/** What happened, in one line: of a halt the last sentence, which is its cause. */
export function headlineOf(card: PageCard): string {
  const { kind, evidence, code, agent } = card;
  const sentence = (kind === 'halt' ? evidence.at(-1) : evidence[0]) ?? code.replaceAll('_', ' ');
  if (kind !== 'halt') return plainSentence(sentence);
  const [cause = sentence] = sentence.split('; ', 1);
  if (agent === undefined || cause.startsWith(`${agent} `) || cause.startsWith(`${agent}:`)) return cause;
  return `${agent} stopped: ${cause}`;
}

/** The sentences behind the headline; arguments and counters are shown by themselves. */
export function reasonsOf(card: PageCard): readonly string[] {
  const { kind, evidence, input } = card;
  const sentences = input ? evidence.slice(0, -1) : evidence;
  if (kind === 'halt') return sentences.filter((each) => !statusLine.test(each)).map(explainLimit);
  return (sentences.length > 1 ? sentences.slice(1) : sentences).map(plainSentence);
}

/** The counters of a run in one line, which a terminal prints: `calls 6 of 5 · $0.31 of $50.00 · 02:13 of 30:00`. */
const statusLine = / of .+ · .+ of /;

/** A counter and its limit as a sentence: `tool calls: 51 of 50`. */
function explainLimit(sentence: string): string {
  const [, name, usage] = /^([\w ]+): (\S+ of \S+)$/.exec(sentence) ?? [];
  return name === undefined ? sentence : `The task reached its limit of ${name}: ${usage}.`;
}

/** The arguments of an open question as a person reads them; undefined if the card has none to show. */
export function argumentsOf({ kind, input }: PageCard): string | undefined {
  if (kind !== 'ask' || input === undefined) return undefined;
  try {
    return JSON.stringify(JSON.parse(input), null, 2);
  } catch {
    return input;
  }
}

/** Says for how many equal cards, and for whose, a card stands; undefined for a single one. */
export function describeEquals({
  kind,
  count = 1,
  equalTasks = [],
  task,
}: PageCard): { readonly title: string; readonly text: string } | undefined {
  if (count < 2) return undefined;
  const tasks = [...new Set([task, ...equalTasks])];
  const others = count - 1 - equalTasks.length;
  const names = `${tasks.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
  const what = kind === 'ask' ? 'Same question' : 'Same cause';
  const taskCount = tasks.length + Math.max(0, others);
  const times = taskCount === count ? '' : ` ${count} times`;
  const where = taskCount === 1 ? '' : ` in ${taskCount} tasks`;
  return { title: `${what}${times}${where}`, text: `${names}. One answer decides them all.` };
}

/** The counters of a card; a card without details has those of its verdict. */
export function countersOf({ details, counters, code }: PageCard): readonly CardCounter[] {
  if (details?.counters !== undefined) return details.counters;
  const { actual, limit } = counters;
  if (typeof actual !== 'number' || typeof limit !== 'number') return [];
  return [{ name: code === 'notice' ? 'used' : code, used: actual, limit }];
}

/** Whether a card tells of a repetition: its sentence says how often, and no counter of the task is its cause. */
function isRepetition({ counters }: PageCard): boolean {
  return typeof counters.evidence === 'string';
}

/** The counters worth a look: the reached one, and those of which at least a hundredth is used. */
export function shownCountersOf(card: PageCard): readonly CardCounter[] {
  return countersOf(card).filter(
    ({ used, limit }, at) =>
      (at === 0 && card.kind !== 'ask' && !isRepetition(card)) || (used > 0 && used >= (limit ?? 0) / 100),
  );
}

/** The name of a counter for people: `tool_calls` is `Tool calls`, `spend_cents` is `Spend`. */
export function counterName(name: string): string {
  if (Object.hasOwn(haltCounters, name)) return haltCounters[name]!;
  const words = name.replace(/_(?:cents|secs|ms)$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Counters of halts that are named like their code. */
const haltCounters: Readonly<Record<string, string>> = {
  tool_loop: 'Loop',
  output_loop: 'Equal outputs',
  delegation_limit: 'Failed delegations',
};

/** The origin of the limit that was reached: a rule, or a setting with its value and the place where it was set. */
export interface LimitOrigin {
  readonly rule?: string;
  readonly setting?: string;
  readonly text?: string;
}

export function limitOf(card: PageCard): LimitOrigin | undefined {
  const { rule } = card.counters;
  if (typeof rule === 'string') return { rule };
  if (isRepetition(card)) return repetitionLimitOf(card);
  const [counter] = countersOf(card);
  if (counter?.limit === undefined) return undefined;
  const value = formatQuantity(counter.limit, counter.unit);
  if (!counter.setting) return { text: value };
  return { setting: counter.setting, text: `= ${value} (${counter.source || 'default'})` };
}

/** The setting that would let a repetition go on, as the sentence of its halt ends; a suspicion has no limit. */
function repetitionLimitOf({ kind, evidence }: PageCard): LimitOrigin | undefined {
  const [, ...settings] = (evidence.at(-1) ?? '').split('; ');
  return kind === 'halt' && settings.length > 0 ? { text: settings.join('; ') } : undefined;
}

/** A rule as a person reads it: `ability:pay → confirm`, and the tool or chain that it is for. */
export interface RuleWords {
  readonly text: string;
  readonly target?: string;
}

/** Takes the stored line of a rule apart: `pay|ability:pay|confirm`; any other text stays as it is. */
export function describeRule(line: string): RuleWords {
  const [, target = '', condition, action] = /^([^|]*)\|(.+)\|(\w+)$/s.exec(line) ?? [];
  if (condition === undefined || action === undefined) return { text: line };
  const isNamed = target === '' || target === '*' || condition === `ability:${target}`;
  return { text: `${condition} → ${action}`, ...(!isNamed && { target: target.replace(/^chain:/, 'chain ') }) };
}

/** The kinds of cards as words. */
export const kindWords = { ask: 'Question', halt: 'Stopped', notice: 'Notice' } as const;

/** An answer in the past tense, for the history. */
export const answerWords: Readonly<Record<CardAction, string>> = {
  approve: 'approved once',
  approve_run: 'approved for the run',
  approve_always: 'approved always',
  approve_edited: 'approved with other arguments',
  decline: 'declined',
  retry_raised: 'tried again',
  pause: 'paused',
  narrow_scope: 'narrowed',
  replan: 'handed back for a new plan',
  dismiss: 'dismissed',
};

/** What became of a card, for the history. */
export function outcomeOf({ answer, state, kind }: PageCard): string {
  if (answer !== undefined) return answerWords[answer];
  if (kind === 'notice') return 'over';
  return state === 'expired' || state === 'open' ? 'expired without an answer' : state;
}

/** The name of the person who answered. */
export function answererOf({ answeredBy, by }: PageCard): string | undefined {
  return answeredBy ?? by;
}

/** The words behind a card of the past that its headline does not have. */
export function causesOf(card: PageCard): readonly string[] {
  const headline = headlineOf(card);
  const [counter] = card.kind === 'ask' || isRepetition(card) ? [] : countersOf(card);
  const usage = counter && formatUsage(counter.used, counter.limit, counter.unit);
  const words = card.evidence.map(plainSentence).filter((each) => !headline.includes(each) && !statusLine.test(each));
  const isSaid = usage === undefined || [headline, ...words].some((each) => each.includes(usage));
  return isSaid ? words : [...words, `${counterName(counter!.name)}: ${usage}`];
}

/** What somebody else did, for a person who was too late. */
export function describeClosed(card: PageCard): string {
  const who = answererOf(card);
  if (card.answer === undefined || who === undefined) return 'Nothing was decided: this card expired before.';
  return `${who} was first: ${answerWords[card.answer]}.`;
}

/** Splits an error into its words and the command that it names, as `needs_terminal` does. */
export function splitCommand(message: string): { readonly words: string; readonly command?: string } {
  const [, words, command] = /^(.*?):?\s*(switchgear (?:inbox|chain|run) .+)$/s.exec(message) ?? [];
  return words === undefined || command === undefined ? { words: message } : { words: `${words}.`, command };
}
