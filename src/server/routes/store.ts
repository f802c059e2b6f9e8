/** The routes about the store as a whole: status, store, events, metrics, health, and the document of the API. */

import { HttpError } from '../../http/http-error.ts';
import { readAlerts } from '../../operator/alerts/read-alerts.ts';
import { readStatus } from '../../operator/status.ts';
import { readStoreSummary } from '../../operator/store-summary.ts';
import { textAnswer } from '../http/respond.ts';
import { defineRoute, metricCompats, type Route, type RouteCall } from '../http/route.ts';
import { objectSchema } from '../http/schema.ts';
import { formatMetrics } from './metrics.ts';

export const storeRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/status',
    summary: 'Everything at once: breakers, tasks, budgets, orders and open cards.',
    access: 'viewer',
    answer: 'The state of the store, as switchgear status --json prints it.',
    handle: ({ context }) => readStatus(context.store, context.storeName),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/store',
    summary: 'The store: whether it answers, its journal, and the processes that use it.',
    access: 'viewer',
    answer:
      'The name, health and size of the store, the numbers of its entries, its processes, agents, outages, alerts.',
    async handle({ context }) {
      const { firing, webhooks } = await readAlerts(context.store);
      const failing = webhooks.filter(({ state }) => state === 'failing').map(({ name }) => name);
      const alerts = { firing: firing.length, failingWebhooks: failing };
      const entries = await context.readRecentEntries();
      return { ...(await readStoreSummary(context.store, context.storeName, entries)), alerts };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/events',
    summary: 'New journal entries as server-sent events; the header Last-Event-ID replays those since.',
    access: 'viewer',
    query: objectSchema({
      after: {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Instead of Last-Event-ID.',
      },
    }),
    needsHeader: true,
    media: 'text/event-stream',
    answer: 'Events: hello, entry (its id is the number of the entry), resync, store.',
    async handle({ context, query, request, response }) {
      const { 'last-event-id': lastId } = request.headers;
      const after = query.after ?? (lastId === undefined ? undefined : parseEventId(String(lastId)));
      await context.feed.open(response, after, () => isStillAllowed(context, request));
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics of the store for Prometheus.',
    access: 'viewer',
    query: objectSchema({
      compat: {
        type: 'string',
        enum: metricCompats,
        description: 'Adds the metrics of breakers under the names of this library.',
      },
    }),
    media: 'text/plain',
    answer: 'The text format of Prometheus.',
    handle: async ({ context, query }) =>
      textAnswer('text/plain; version=0.0.4; charset=utf-8', await formatMetrics(context, query.compat)),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'This document.',
    access: 'viewer',
    answer: 'OpenAPI 3.1.',
    handle: ({ context }) => context.describe(),
  }),
  defineRoute({
    method: 'GET',
    path: '/health',
    summary: 'Whether the server runs.',
    access: 'open',
    answer: 'ok',
    handle: () => ({ status: 'ok' }),
  }),
  defineRoute({
    method: 'GET',
    path: '/ready',
    summary: 'Whether the store answers.',
    access: 'open',
    answer: 'ok, or status 503.',
    async handle({ context }) {
      const { shared } = context.store;
      if (shared.health.state !== 'shared') throw new HttpError(503, 'store_away', 'the store does not answer', 1);
      await shared.read('orders', 1);
      return { status: 'ok' };
    },
  }),
];

function parseEventId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new HttpError(400, 'invalid_argument', 'Last-Event-ID must be the number of an entry');
}

async function isStillAllowed(
  { authenticator }: RouteCall['context'],
  request: RouteCall['request'],
): Promise<boolean> {
  return authenticator.authenticate(request).then(
    () => true,
    (error: unknown) => !(error instanceof HttpError && error.status === 401),
  );
}
