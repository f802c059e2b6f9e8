/** The answers of a card as buttons: what they say, what they send, and which of them need words first. */

import type { CardAction } from '../../../src/core/card.ts';
import { answererOf, answerWords } from './card-words.ts';
import { formatQuantity } from './format.ts';
import type { PageCard } from './inbox-model.ts';

/** The body of an answer. */
export interface AnswerBody {
  readonly answer: 'approve' | 'decline' | 'retry' | 'narrow' | 'pause' | 'replan' | 'dismiss';
  readonly for?: 'once' | 'run' | 'always';
  readonly edit?: unknown;
  readonly request?: string;
  readonly note?: string;
  readonly limit?: number;
  /** How many equal cards are decided with it: those that the card stood for. */
  readonly equals?: number;
}

/** The dialog that an answer needs. */
export interface AnswerDialog {
  readonly title: string;
  readonly label: string;
  readonly hint: string;
  readonly verb: string;
  readonly isRequired: boolean;
  readonly isCode: boolean;
}

/** One button of a card. */
export interface AnswerButton {
  readonly action: CardAction;
  readonly label: string;
  readonly tone: 'primary' | 'plain' | 'danger' | 'quiet';
  /** The key that presses it. */
  readonly key?: string;
  /** Absent = the answer is sent at once. */
  readonly dialog?: AnswerDialog;
  /** Returns the body of the request; `text` is the text of the dialog. */
  readonly body: (text: string) => AnswerBody;
}

/** Letters of a note and of a request, and cards that one answer decides. */
export const noteLengthMax = 500;
export const requestLengthMax = 8_000;
export const equalsMax = 100;

const declineDialog: AnswerDialog = {
  title: 'Decline',
  label: 'Note to the agent',
  hint: 'The call does not run. The agent reads the note; it may be empty.',
  verb: 'Decline',
  isRequired: false,
  isCode: false,
};

const narrowDialog: AnswerDialog = {
  title: 'Narrow the request',
  label: 'Smaller request',
  hint: 'The agent starts again with this request in place of its first one.',
  verb: 'Narrow the request',
  isRequired: true,
  isCode: false,
};

const replanDialog: AnswerDialog = {
  title: 'Hand back for a new plan',
  label: 'Words for the new plan',
  hint: 'The task ends, and its caller makes a new plan. The text may be empty.',
  verb: 'Hand back',
  isRequired: false,
  isCode: false,
};

const editDialog: AnswerDialog = {
  title: 'Edit and approve',
  label: 'Arguments (JSON)',
  hint: 'The call runs once with these arguments. Write masked values out: they are sent as they stand here.',
  verb: 'Approve with these arguments',
  isRequired: true,
  isCode: true,
};

/** All buttons, in their order on a card. */
const buttons: Readonly<Record<CardAction, Omit<AnswerButton, 'action'>>> = {
  approve: {
    label: 'Approve once',
    tone: 'primary',
    key: 'a',
    body: () => ({ answer: 'approve', for: 'once' }),
  },
  approve_run: { label: 'Approve for this run', tone: 'plain', body: () => ({ answer: 'approve', for: 'run' }) },
  approve_always: { label: 'Approve always', tone: 'plain', body: () => ({ answer: 'approve', for: 'always' }) },
  approve_edited: {
    label: 'Edit and approve…',
    tone: 'plain',
    key: 'e',
    dialog: editDialog,
    body: (text) => ({ answer: 'approve', for: 'once', edit: JSON.parse(text) as unknown }),
  },
  decline: {
    label: 'Decline…',
    tone: 'danger',
    key: 'd',
    dialog: declineDialog,
    body: (note) => ({ answer: 'decline', ...(note !== '' && { note }) }),
  },
  retry_raised: { label: 'Try again', tone: 'primary', key: 'r', body: () => ({ answer: 'retry' }) },
  narrow_scope: {
    label: 'Narrow the request…',
    tone: 'plain',
    dialog: narrowDialog,
    body: (request) => ({ answer: 'narrow', request }),
  },
  replan: {
    label: 'Hand back for a new plan…',
    tone: 'plain',
    dialog: replanDialog,
    body: (request) => ({ answer: 'replan', ...(request !== '' && { request }) }),
  },
  pause: { label: 'Pause', tone: 'plain', key: 'p', body: () => ({ answer: 'pause' }) },
  dismiss: { label: 'Dismiss', tone: 'quiet', body: () => ({ answer: 'dismiss' }) },
};

/** The buttons of a card. With a limit for the next attempt, the button of the retry names and sends it. */
export function listAnswers(card: PageCard, limit?: number): readonly AnswerButton[] {
  return (Object.keys(buttons) as CardAction[]).flatMap((action) => {
    if (!card.actions.includes(action)) return [];
    const button: AnswerButton = { action, ...buttons[action] };
    return [includeEquals(card, action === 'retry_raised' ? nameLimit(card, button, limit) : button)];
  });
}

function nameLimit(card: PageCard, button: AnswerButton, limit: number | undefined): AnswerButton {
  const raise = card.details?.raise ?? card.raise;
  if (raise === undefined || limit === undefined) return button;
  const unit = card.details?.counters?.find(({ setting }) => setting === raise.setting)?.unit;
  const label = `Try again with a limit of ${formatQuantity(limit, unit)}`;
  return { ...button, label, body: () => ({ answer: 'retry', limit }) };
}

/** Answers that are for one card alone: a smaller request is for one agent, and other arguments are for one call. */
const forOne: readonly CardAction[] = ['narrow_scope', 'approve_edited'];

/** A card that stands for several equal ones decides them all, and its buttons say so. */
function includeEquals({ count = 1 }: PageCard, button: AnswerButton): AnswerButton {
  if (count < 2 || forOne.includes(button.action)) return button;
  const [, words = '', dots = ''] = /^(.*?)(…?)$/.exec(button.label) ?? [];
  const equals = Math.min(count - 1, equalsMax);
  return {
    ...button,
    label: `${words} (all ${equals + 1})${dots}`,
    body: (text) => ({ ...button.body(text), equals }),
  };
}

/** The buttons that all cards of a selection offer; a dialog of arguments is for one card alone. */
export function listCommonAnswers(cards: readonly PageCard[]): readonly AnswerButton[] {
  const [first, ...others] = cards;
  if (first === undefined) return [];
  return listAnswers({ ...first, count: 1 }).filter(
    ({ action }) => action !== 'approve_edited' && others.every(({ actions }) => actions.includes(action)),
  );
}

/** Whether the arguments of a question are not shown yet; it is approved only after they are. */
export function isIncomplete({ kind, details }: PageCard): boolean {
  return kind === 'ask' && details === undefined;
}

/** The reason why a text is no arguments or output, or undefined. */
export function checkArguments(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

/** The answer of the API after a decision. */
export interface AnswerResult {
  readonly card: PageCard;
  readonly effect?: {
    readonly status?: string;
    readonly sentence?: string;
    readonly released?: number;
    readonly abandonedRun?: string;
  };
}

/** The sentence about the equal cards that a decision released or decided, or nothing. */
export function releasedSentence({ card, effect }: AnswerResult): string {
  const released = effect?.released ?? 0;
  if (released === 0) return '';
  const [noun, verb] = card.kind === 'ask' ? ['equal question', 'released'] : ['equal card', 'decided'];
  return ` ${released} ${noun}${released === 1 ? ' was' : 's were'} ${verb} with it.`;
}

/** The effect of a decision in a sentence: that of the server, or one from the card as it is in the store. */
export function effectSentence({ card, effect }: AnswerResult): string {
  if (effect?.sentence !== undefined) return effect.sentence;
  const who = answererOf(card) ?? 'Another person';
  const words = card.answer === undefined ? `the card is ${card.state}` : answerWords[card.answer];
  const run = effect?.abandonedRun;
  const resume =
    run === undefined ? '' : ` No process runs the chain now. Continue it with: switchgear chain resume ${run}`;
  return `${who}: ${words}.${releasedSentence({ card, ...(effect && { effect }) })}${resume}`;
}
