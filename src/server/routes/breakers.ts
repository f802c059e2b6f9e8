/** The routes of breakers: list, reset, trip, hold, release. */

import { reasonLengthMax, secsMax } from '../../core/limits.ts';
import { findBreakerEntries, withActivity } from '../../operator/board/breaker-activity.ts';
import { effectsOfHolds, holdBreakers, releaseBreakers } from '../../operator/breaker-holds.ts';
import { compareBreakers, readStoredBreakers, resetBreakers, tripBreakers } from '../../operator/breakers.ts';
import { readOrders } from '../../operator/status.ts';
import { answerRowsMax } from '../http/limits.ts';
import { defineRoute, type Route, type ServerContext } from '../http/route.ts';
import { objectSchema } from '../http/schema.ts';

const reason = { type: 'string', maxLength: reasonLengthMax, description: 'Kept in the journal.' } as const;
const reasonBody = objectSchema({ reason });
const effectAnswer = 'The breakers and orders of this name, as they are in the store after the order.';

export const breakerRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/breakers',
    summary: 'List the breakers of the store.',
    access: 'viewer',
    query: objectSchema({
      name: { type: 'string', maxLength: 500 },
      state: { type: 'string', enum: ['OPEN', 'HALF_OPEN', 'CLOSED'] },
      offset: { type: 'integer', minimum: 0, maximum: 1_000_000 },
      limit: { type: 'integer', minimum: 1, maximum: answerRowsMax, description: '1000 by default' },
    }),
    answer: 'The breakers, those that are not closed first, how many there are, orders, and the time of the store.',
    async handle({ context, query }) {
      const { breakers, ...rest } = await readBreakers(context, query.name);
      const { state: wanted, offset = 0, limit = answerRowsMax } = query;
      const matching = breakers.filter(({ state }) => (wanted ?? state) === state).toSorted(compareBreakers);
      return { ...rest, breakers: matching.slice(offset, offset + limit), total: matching.length };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/breakers/{name}/entries',
    summary: 'The last journal entries about the breakers of a tool, the newest first.',
    access: 'viewer',
    answer: 'At most 100 of the newest entries, each with its words.',
    async handle({ context, params }) {
      return { entries: findBreakerEntries(await context.readRecentEntries(), params.name!) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/breakers/{name}/reset',
    summary: 'Close the breakers of a tool and clear their counts.',
    access: 'operator',
    body: reasonBody,
    answer: effectAnswer,
    async handle({ context, params, body, authorize }) {
      const request = { target: params.name!, reason: body.reason ?? '', ...(await authorize('loosen')) };
      await resetBreakers(context.store, request);
      return readBreakers(context, params.name);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/breakers/{name}/trip',
    summary: 'Open the breakers of a tool for some time.',
    access: 'operator',
    body: objectSchema({
      reason,
      secs: {
        type: 'number',
        minimum: 0.001,
        maximum: secsMax,
        description: 'For how long; by default as long as the policy says.',
      },
    }),
    answer: effectAnswer,
    async handle({ context, params, body, authorize }) {
      const target = params.name!;
      const settings = await context.findTripSettings(target, body.secs);
      const operator = await authorize('tighten');
      await tripBreakers(context.store, { target, reason: body.reason ?? '', settings, ...operator });
      return readBreakers(context, target);
    },
  }),
  ...(['hold', 'release'] as const).map((order) =>
    defineRoute({
      method: 'POST',
      path: `/api/breakers/{name}/${order}`,
      summary: order === 'hold' ? 'Keep the breakers of a tool open.' : 'Release held breakers of a tool.',
      access: 'operator',
      body: reasonBody,
      answer: effectAnswer,
      async handle({ context, params, body, authorize }) {
        const target = params.name!;
        const request = { target, reason: body.reason ?? '', ...(await authorize(effectsOfHolds[order])) };
        await (order === 'hold' ? holdBreakers : releaseBreakers)(context.store, request);
        return readBreakers(context, target);
      },
    }),
  ),
];

/** The breakers of a tool, or all, with the trips and holds that concern them. */
async function readBreakers({ store, readRecentEntries }: ServerContext, name: string | undefined) {
  const stored = (await readStoredBreakers(store)).filter((each) => (name ?? each.name) === each.name);
  const breakers = withActivity(stored, await readRecentEntries(), store.clock.nowMs());
  const { trips, holds = [] } = readOrders(store);
  const concerns = ({ target }: { readonly target: string | null }) => name === undefined || target === name;
  return {
    breakers,
    orders: { trips: trips.filter(concerns), holds: holds.filter(concerns) },
    atMs: store.clock.nowMs(),
  };
}
