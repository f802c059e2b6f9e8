/** The card that a person sees when a task halted or an action asks, and its state transitions. */

import { SwitchgearError } from './error.ts';
import { reasonLengthMax } from './limits.ts';
import type { Code, Counters } from './verdict.ts';

/** Every action of a person on a card. */
export const cardActions = [
  'approve',
  'approve_run',
  'approve_always',
  'approve_edited',
  'decline',
  'retry_raised',
  'pause',
  'narrow_scope',
  'replan',
  'dismiss',
] as const;

/**
 * `approve` answers for the one action that asks; a chain run can also be approved as a whole, or permanently.
 * `approve_edited` approves the action with other arguments.
 */
export type CardAction = (typeof cardActions)[number];

/** A card: a halted task or an asking action, with the actions of a person. */
export interface Card {
  readonly id: string;
  readonly kind: 'halt' | 'ask' | 'notice';
  readonly task: string;
  readonly code: Code | 'notice';
  readonly counters: Counters;
  /** Sentences for a person: the cause, the repetition, the pending action. */
  readonly evidence: readonly string[];
  readonly actions: readonly CardAction[];
  readonly state: 'open' | 'answered' | 'used' | 'expired';
  readonly answer?: CardAction;
  /** The user of the system who answered. */
  readonly by?: string;
  /** The process that the answer came from. */
  readonly from?: AnswerOrigin;
  readonly expiresAtMs?: number;
  /** The keyed digest of what is approved: the tool, its whole input, the task and the rules that ask. */
  readonly digest?: string;
  /** The keyed digest of a call without its task: the same for the same call of one agent in one program. */
  readonly alike?: string;
  /** The chain step that waits for the answer, and the rules that ask. */
  readonly step?: CardStep;
  /** The name of the agent. */
  readonly agent?: string;
  /** The risk by which cards are sorted. @default high for a question, medium for a halt, low for a notice */
  readonly risk?: 'high' | 'medium' | 'low';
  /** The wall time at which the card was opened, and that of its answer. */
  readonly openedWallMs?: number;
  readonly answeredWallMs?: number;
  /** The counters of the task when the card was opened, each with its limit. */
  readonly counts?: readonly CardCounter[];
  /** The limit that `retry_raised` raises, and how far. */
  readonly raise?: CardRaise;
  /** The limit that the answer `retry_raised` sets. @default the suggested one */
  readonly raisedTo?: number;
  /** The words of the person who answered; those of a `decline` reach the agent. */
  readonly note?: string;
  /** Until when a person wants not to see the card, in the time of the store. The question still expires. */
  readonly snoozedUntilMs?: number;
}

/** A counter of a task beside its limit. */
export interface CardCounter {
  /** The counter, e.g. `tool_calls` or `spend_cents`. */
  readonly name: string;
  readonly used: number;
  readonly limit: number;
  /** The setting of the limit, as a path of a policy. */
  readonly setting: string;
  /** The origin of the limit: `default`, a line of a policy file, an option of the command, or the program. */
  readonly source: string;
}

/** How far an answer may raise the limit that a task reached. */
export interface CardRaise {
  /** The setting of the limit, as a path of a policy. */
  readonly setting: string;
  /** The limit without another one in the answer. */
  readonly suggested: number;
  /** The lowest limit with which the task goes on. */
  readonly min: number;
  /** The highest limit without a change of the policy: the limit doubled, or what is spent already. */
  readonly max: number;
}

/** A question as the person who is asked sees it. The store keeps its input sealed, and only while it is open. */
export interface QuestionCard extends Card {
  /**
   * The arguments of the call: one line, at most about 8,000 characters, secrets masked by kind and length. Empty for a
   * call without arguments.
   * @default none
   */
  readonly input?: string;
}

/** An answered card, as the program that acts on the answer reads it. */
export interface AnsweredCard extends Card {
  /**
   * The smaller request of `narrow_scope`, or the words for a new plan of `replan`.
   * @default none
   */
  readonly request?: string;
}

/** The process that an answer or an order came from. */
export interface AnswerOrigin {
  /**
   * How it was told apart from an agent. `operator`: no guarded agent started it. `code`: a person typed a code at the
   * terminal. `unattended`: a trusted policy allows answers without a terminal. `token`: a request to `switchgear
   * serve` with a token of an operator. `agent`: a guarded agent gave the order, which only a halt allows.
   */
  readonly how: 'operator' | 'code' | 'unattended' | 'token' | 'agent';
  /** Names and ids of the process and its ancestors, or the reason why they are unknown. */
  readonly processes: string;
  /** What `--by` says. */
  readonly note?: string;
}

/** The chain step that a card is about. */
export interface CardStep {
  readonly run: string;
  readonly chain: string;
  /** Empty if the question is about the whole run. */
  readonly id: string;
  readonly rules: readonly string[];
}

/** The name under which `switchgear run` closes notices that it reports itself; nobody answered them. */
export const supervisorName = 'switchgear run';
/** The name under which `switchgear gateway` closes the card of a halt whose task goes on. */
export const gatewayName = 'switchgear gateway';

/** A change of a card. */
export type CardEvent =
  | {
      readonly type: 'card-answered';
      readonly atMs: number;
      readonly answer: CardAction;
      readonly by: string;
      readonly from?: AnswerOrigin | undefined;
      readonly wallMs?: number | undefined;
      readonly note?: string | undefined;
      /** The limit that `retry_raised` sets. */
      readonly raisedTo?: number | undefined;
    }
  | {
      readonly type: 'card-used';
      readonly atMs: number;
      /** The digest of the arguments that the person put in place of those of the call. */
      readonly digest?: string | undefined;
    }
  | { readonly type: 'card-expired'; readonly atMs: number };

/**
 * Returns the next state of a card. An invalid transition changes nothing: the first answer stands, a used card stays
 * used.
 */
export function changeCard(card: Card, event: CardEvent): Card {
  switch (event.type) {
    case 'card-answered':
      if (card.state !== 'open' || isPast(card, event.atMs)) return card;
      if (!card.actions.includes(event.answer)) return card; // Only an offered action can be chosen.
      return answered(card, event);
    case 'card-used':
      // Single use, and never after the card expired.
      if (card.state !== 'answered' || isPast(card, event.atMs)) return card;
      return { ...card, state: 'used', ...(event.digest !== undefined && { digest: event.digest }) };
    case 'card-expired':
      if (card.state === 'used' || !isPast(card, event.atMs)) return card;
      return { ...card, state: 'expired' };
  }
}

function answered(card: Card, event: Extract<CardEvent, { readonly type: 'card-answered' }>): Card {
  const { answer, by, from, wallMs, note, raisedTo } = event;
  const { snoozedUntilMs: _, ...rest } = card;
  return {
    ...rest,
    ...{ state: 'answered', answer, by },
    ...(from && { from }),
    ...(wallMs !== undefined && { answeredWallMs: wallMs }),
    ...(note !== undefined && { note }),
    ...(raisedTo !== undefined && answer === 'retry_raised' && { raisedTo }),
  };
}

/** The reason of a declined call for the agent: why it was asked about, and the words of the person who declined. */
export function withNote(reason: string | undefined, by: string, note: unknown): string | undefined {
  if (typeof note !== 'string' || note.trim() === '') return reason;
  const words = `${by} says: ${note.trim().slice(0, reasonLengthMax)}`;
  return reason === undefined ? words : `${reason}; ${words}`;
}

/** Whether a person wants not to see an open card now. */
export function isSnoozed({ state, snoozedUntilMs = 0 }: Card, atMs: number): boolean {
  return state === 'open' && atMs < snoozedUntilMs;
}

/** Reads edited arguments: a JSON list is the list of the arguments, any other value is the only argument. */
export function parseEditedArgs(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SwitchgearError('invalid_argument', `edited arguments must be JSON: ${(error as Error).message}`);
  }
  return Array.isArray(value) ? value : [value];
}

/** The reason why a card cannot be answered so at all, or undefined; actions are named in the words of `format`. */
export function describeOtherAnswers(
  { id, actions }: Card,
  answer: CardAction,
  format: (action: CardAction) => string = (action) => action,
): string | undefined {
  if (actions.includes(answer)) return undefined;
  const offered = actions.map(format).join(', ') || 'no answer';
  if (answer !== 'approve_edited' || !actions.includes('approve'))
    return `${id} accepts ${offered}, got ${format(answer)}`;
  return `the arguments of ${id} cannot be edited: what waits for the answer runs with its own; it accepts ${offered}`;
}

function isPast(card: Card, atMs: number): boolean {
  return card.expiresAtMs !== undefined && atMs >= card.expiresAtMs;
}
