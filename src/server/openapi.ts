/** Renders the routes as an OpenAPI document, from the schemas that check their requests. */

import { pageKeyHeader } from './http/authenticate.ts';
import type { Route } from './http/route.ts';

/** Renders the document. */
export function renderOpenapi(routes: readonly Route[]): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const { path, method } = route;
    paths[path] = { ...paths[path], [method.toLowerCase()]: renderOperation(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Switchgear',
      version: '1',
      description: 'What a person can see and do. Errors are { "error": { "code", "message" } }.',
    },
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'switchgear-session-PORT' },
        page: { type: 'apiKey', in: 'header', name: pageKeyHeader },
      },
      schemas: { Error: errorSchema },
    },
  };
}

const errorSchema = {
  type: 'object',
  properties: {
    error: { type: 'object', properties: { code: { type: 'string' }, message: { type: 'string' } } },
  },
};

function renderOperation(route: Route): unknown {
  const { path, method, summary, access, query, body, media, answer, needsHeader } = route;
  const pathNames = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const parameters = [
    ...pathNames.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query.properties).map(([name, schema]) => ({
      name,
      in: 'query',
      required: query.required.includes(name),
      schema,
    })),
    ...(method === 'GET' && needsHeader !== true ? [] : [ownHeader]),
  ];
  return {
    summary,
    parameters,
    ...(body && {
      requestBody: { required: body.required.length > 0, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      200: { description: answer, content: { [media]: {} } },
      default: {
        description: 'An error.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
    security: access === 'open' ? [] : [{ token: [] }, { session: [], page: [] }],
    'x-role': access,
  };
}

const ownHeader = { name: 'x-switchgear', in: 'header', required: true, schema: { type: 'string', enum: ['1'] } };
