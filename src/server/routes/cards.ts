/** The routes of the inbox: cards, their answers, and standing approvals. */

import { type Card, cardActions } from '../../core/card.ts';
import { nameLengthMax, reasonLengthMax, shownInputMax } from '../../core/limits.ts';
import { cardStates, findCard, isInState } from '../../operator/cards.ts';
import {
  type AnswerEffect,
  answerFromInbox,
  answerSeveral,
  approvalLifetimes,
  decidedCardsMax,
  effectOfVerb,
  type InboxAnswer,
  inboxVerbs,
} from '../../operator/inbox/answers.ts';
import { foldCards, readAwaitedCards, sortByAnswer, sortByUrgency, viewCards } from '../../operator/inbox/card-view.ts';
import { snoozeCard, snoozeEffect, snoozeMaxSecs, snoozeMinSecs } from '../../operator/inbox/snooze.ts';
import { readStandingApprovals, revokeStandingApproval } from '../../operator/standing.ts';
import { answerRowsMax } from '../http/limits.ts';
import { defineRoute, type Route, type ServerContext } from '../http/route.ts';
import { type Checked, type ObjectSchema, objectSchema } from '../http/schema.ts';

const answerFields = {
  answer: { type: 'string', enum: inboxVerbs },
  for: { type: 'string', enum: approvalLifetimes, description: 'How long an approval holds; once by default.' },
  edit: {
    description: 'Arguments in place of those of the call that asks, where the card offers approve_edited.',
  },
  request: {
    type: 'string',
    maxLength: shownInputMax,
    description: 'The smaller request of narrow, or the words for a new plan of replan.',
  },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The new limit of retry, within details.raise of the card; the suggested one by default.',
  },
  equals: {
    type: 'integer',
    minimum: 0,
    maximum: decidedCardsMax,
    description:
      'How many equal open cards the answer also decides; by default all equal questions of the task, and no others.',
  },
  note: {
    type: 'string',
    maxLength: reasonLengthMax,
    description: 'Words that are kept with the answer; those of decline reach the agent.',
  },
} as const;

export const cardRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/cards',
    summary: 'List cards: by risk, then by how long an agent has been waiting; closed ones the newest first.',
    access: 'viewer',
    query: objectSchema({
      state: { type: 'string', enum: cardStates, description: 'open by default, without snoozed ones' },
      kind: { type: 'string', enum: ['ask', 'halt', 'notice'] },
      task: { type: 'string', maxLength: 500 },
      answer: { type: 'string', enum: cardActions, description: 'Only cards that were answered so.' },
      fold: { type: 'boolean', description: 'Equal open cards as one, with a count; true by default for open ones.' },
      offset: { type: 'integer', minimum: 0, maximum: 1_000_000 },
      limit: { type: 'integer', minimum: 1, maximum: answerRowsMax, description: '100 by default' },
    }),
    answer: 'The cards, how many there are in all, and the time of the store.',
    async handle({ context, query }) {
      const { store } = context;
      const { state = 'open', kind, task, answer, fold = state === 'open', offset = 0, limit = 100 } = query;
      const atMs = store.clock.nowMs();
      const history = await context.readCardHistory();
      const found = (await context.readCards()).filter(
        (card) =>
          isInState(card, state, atMs) &&
          (kind ?? card.kind) === card.kind &&
          (task ?? card.task) === card.task &&
          (answer === undefined || card.answer === answer),
      );
      const sorted = state === 'closed' ? sortByAnswer(found, history) : sortByUrgency(found, history);
      const all = fold
        ? foldCards(sorted, atMs, await readAwaitedCards(store))
        : sorted.map((card) => ({ card, equals: [] }));
      const cards = await viewCards(store, history, all.slice(offset, offset + limit));
      return { cards, total: all.length, atMs, wallMs: store.clock.wallMs() };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/cards/{id}',
    summary: 'Show one card; a unique prefix of the id is enough.',
    access: 'viewer',
    answer: 'The card; an open question has the arguments of its call, with secrets masked.',
    async handle({ context, params }) {
      const card = await findCard(context.store, params.id!);
      return { card: await showCard(context, card) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/cards/{id}/answer',
    summary: 'Answer a card, as switchgear inbox does.',
    access: 'operator',
    body: objectSchema(answerFields, 'answer'),
    answer: 'The card as it is in the store after the answer, and what the answer did.',
    async handle({ context, params, body, authorize }) {
      const answer = readAnswer(body);
      const operator = await authorize(effectOfVerb(answer.verb), body.note);
      const effect = await answerFromInbox(context.store, params.id!, answer, operator, readersOf(context));
      return showEffect(context, effect);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/cards/answer',
    summary: 'Give the same answer to several cards.',
    access: 'operator',
    body: objectSchema(
      {
        ids: {
          type: 'array',
          minItems: 1,
          maxItems: decidedCardsMax,
          items: { type: 'string', minLength: 1, maxLength: nameLengthMax },
        },
        ...answerFields,
      },
      'ids',
      'answer',
    ),
    answer: 'A result for each id: the card and the effect, or the error.',
    async handle({ context, body, authorize }) {
      const answer = readAnswer(body);
      const operator = await authorize(effectOfVerb(answer.verb), body.note);
      const results = await answerSeveral(context.store, body.ids!, answer, operator, readersOf(context));
      const shown = results.map(async (result) =>
        'effect' in result ? { id: result.id, ...(await showEffect(context, result.effect)) } : result,
      );
      return { results: await Promise.all(shown) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/cards/{id}/snooze',
    summary: 'Hide a card for a time: nothing is decided. A question is back before it expires.',
    access: 'operator',
    body: objectSchema({ secs: { type: 'integer', minimum: snoozeMinSecs, maximum: snoozeMaxSecs } }, 'secs'),
    answer: 'The card as it is in the store after it; the list has it again when the time is over.',
    async handle({ context, params, body, authorize }) {
      const card = await snoozeCard(context.store, params.id!, body.secs!, await authorize(snoozeEffect));
      return { card: await showCard(context, card) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/standing',
    summary: 'List standing approvals.',
    access: 'viewer',
    answer: 'The standing approvals, the newest first.',
    handle: async ({ context }) => ({ standing: await readStandingApprovals(context.store) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/standing/{id}/revoke',
    summary: 'Revoke a standing approval.',
    access: 'operator',
    body: objectSchema({}),
    answer: 'The revoked approval, and the remaining ones.',
    async handle({ context, params, authorize }) {
      const revoked = await revokeStandingApproval(context.store, params.id!, await authorize('tighten'));
      return { revoked, standing: await readStandingApprovals(context.store) };
    },
  }),
];

function readAnswer(body: Checked<ObjectSchema & { readonly properties: typeof answerFields }>): InboxAnswer {
  const { answer, for: lifetime, request, edit, limit, equals, note } = body;
  const editedArgs = edit === undefined ? undefined : JSON.stringify(edit);
  return { verb: answer!, lifetime, request, editedArgs, limit, equals, note };
}

function readersOf({ readCardHistory, readCards }: ServerContext) {
  return { readHistory: readCardHistory, readCards };
}

/** An answered card as it is in the store, and what the answer did. */
async function showEffect(context: ServerContext, { card, status, ...effect }: AnswerEffect) {
  const { sentence, released, pausedCard, abandonedRun } = effect;
  return {
    card: await showCard(context, card),
    effect: {
      ...{ status, sentence, released },
      ...(pausedCard && { pausedCard }),
      ...(abandonedRun !== undefined && { abandonedRun }),
    },
  };
}

/** One card as a person reads it, as it is in the store. */
async function showCard({ store, readCardHistory }: ServerContext, card: Card) {
  const [view] = await viewCards(store, await readCardHistory(), [{ card, equals: [] }]);
  return view!;
}
