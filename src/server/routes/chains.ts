/** The routes of chain runs: list, show, cancel, resolve. */

import { cancelChainRunFor, readChainRun, readChainRuns, resolveChainRunFor } from '../../operator/chain-runs.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { objectSchema } from '../http/schema.ts';

export const chainRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/chains',
    summary: 'List chain runs.',
    access: 'viewer',
    query: objectSchema({ all: { type: 'boolean', description: 'Also runs that are over.' } }),
    answer: 'The runs, the newest first.',
    handle: async ({ context, query }) => ({ runs: await readChainRuns(context.store, query.all ?? false) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/chains/{id}',
    summary: 'Show one chain run with its steps, without parameters and outputs.',
    access: 'viewer',
    answer: 'The run.',
    handle: async ({ context, params }) => ({ run: await readChainRun(context.store, params.id!) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/chains/{id}/cancel',
    summary: 'Stop a chain run in any process.',
    access: 'operator',
    body: objectSchema({}),
    answer: 'The run as it is in the store after the order.',
    async handle({ context, params, authorize }) {
      const { id } = await cancelChainRunFor(context.store, params.id!, await authorize('tighten'));
      return { run: await readChainRun(context.store, id) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/chains/{id}/resolve',
    summary: 'Settle a step in doubt.',
    access: 'operator',
    body: objectSchema(
      {
        how: { type: 'string', enum: ['done', 'redo'], description: 'The step was done, or must run again.' },
        output: { description: 'The output of a step that was done.' },
      },
      'how',
    ),
    answer: 'The run as it is in the store after the order; switchgear chain resume continues it.',
    async handle({ context, params, body, authorize }) {
      const operator = await authorize('loosen');
      const resolution = { how: body.how!, ...(body.output !== undefined && { output: body.output }) };
      const { id } = await resolveChainRunFor(context.store, params.id!, resolution, operator);
      return { run: await readChainRun(context.store, id) };
    },
  }),
];
