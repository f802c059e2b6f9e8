/** The routes of the inbox: cards, their answers, and standing approvals. */

import { type Card, cardActions } from '../../core/card.ts';
import { reasonLengthMax, shownInputMax } from '../../core/limits.ts';
import { answerFromInbox, approvalLifetimes, effectOfVerb, inboxVerbs } from '../../operator/answers.ts';
import { cardStates, findByIdPrefix, isInState, readCards } from '../../operator/cards.ts';
import { foldCards, sortByAnswer, sortByUrgency, viewCards } from '../../operator/inbox/card-view.ts';
import { readStandingApprovals, revokeStandingApproval } from '../../operator/standing.ts';
import { answerRowsMax } from '../http/limits.ts';
import { defineRoute, type Route, type ServerContext } from '../http/route.ts';
import { objectSchema } from '../http/schema.ts';

const note = {
  type: 'string',
  maxLength: reasonLengthMax,
  description: 'A note that is kept with the answer.',
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
      const found = (await readCards(store)).filter(
        (card) =>
          isInState(card, state, atMs) &&
          (kind ?? card.kind) === card.kind &&
          (task ?? card.task) === card.task &&
          (answer === undefined || card.answer === answer),
      );
      const sorted = state === 'closed' ? sortByAnswer(found, history) : sortByUrgency(found, history);
      const all = fold ? foldCards(sorted, atMs) : sorted.map((card) => ({ card, equals: [] }));
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
      const card = findByIdPrefix(await readCards(context.store), params.id!, 'card');
      return { card: await showCard(context, card) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/cards/{id}/answer',
    summary: 'Answer a card, as switchgear inbox does.',
    access: 'operator',
    body: objectSchema(
      {
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
        note,
      },
      'answer',
    ),
    answer: 'The card as it is in the store after the answer, and what the answer did.',
    async handle({ context, params, body, authorize }) {
      const { answer: verb, for: lifetime, request, edit } = body;
      const editedArgs = edit === undefined ? undefined : JSON.stringify(edit);
      const operator = await authorize(effectOfVerb(verb!), body.note);
      const answer = { verb: verb!, lifetime, request, editedArgs };
      const effect = await answerFromInbox(context.store, params.id!, answer, operator);
      const cards = await readCards(context.store);
      const card = cards.find(({ id }) => id === effect.card.id) ?? effect.card;
      const { status, pausedCard, abandonedRun } = effect;
      return {
        card: await showCard(context, card),
        effect: { status, ...(pausedCard && { pausedCard }), ...(abandonedRun !== undefined && { abandonedRun }) },
      };
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

/** One card as a person reads it, as it is in the store. */
async function showCard({ store, readCardHistory }: ServerContext, card: Card) {
  const [view] = await viewCards(store, await readCardHistory(), [{ card, equals: [] }]);
  return view!;
}
