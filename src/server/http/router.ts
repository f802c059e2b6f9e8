/** Takes a request through all checks, in one order, to its route, and writes the answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { cleanLine } from '../../core/foreign-text.ts';
import { HttpError } from '../../http/http-error.ts';
import {
  checkContentType,
  checkHost,
  checkOrigin,
  checkOwnHeader,
  checkSingleHeaders,
  type HostRules,
  isNavigation,
  parseRequestTarget,
} from '../../http/request-checks.ts';
import { authorizeTokenHolder } from '../../operator/authorize-token.ts';
import { readJsonBody } from './read-json-body.ts';
import { sendError, sendValue } from './respond.ts';
import type { Route, RouteCall, ServerContext } from './route.ts';
import { checkObject, checkQuery } from './schema.ts';
import { startTokenName, type TokenRecord } from './tokens.ts';

/** The parts of a router. */
export interface RouterOptions {
  readonly routes: readonly Route[];
  readonly context: ServerContext;
  readonly getHostRules: () => HostRules;
  /** The header in which a reverse proxy names the person, in lower case. */
  readonly userHeader?: string | undefined;
}

interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** Creates the listener of a server. It never rejects. */
export function createRouter(options: RouterOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    answerRequest(options, request, response).catch((error: unknown) => sendError(response, error));
  };
}

async function answerRequest(
  options: RouterOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { routes, context, userHeader } = options;
  const rules = options.getHostRules();
  checkSingleHeaders(request);
  checkHost(request, rules);
  if (!isNavigation(request)) checkOrigin(request, rules);
  const { segments, query } = parseRequestTarget(request);
  const match = findRoute(routes, request.method ?? '', segments);
  if (match?.route.isDocument !== true) checkOrigin(request, rules);
  const principal = match?.route.access === 'open' ? undefined : await context.authenticator.authenticate(request);
  if (match === undefined) throw noRouteError(routes, segments);
  const { route, params } = match;
  if (route.method !== 'GET' || route.needsHeader === true) checkOwnHeader(request);
  if (route.access === 'operator' && principal?.role !== 'operator')
    throw new HttpError(403, 'role_required', 'this needs the token of an operator; this token can only look');
  if (route.body !== undefined) checkContentType(request);
  const call: RouteCall = {
    context,
    params,
    query: checkQuery(route.query, query),
    body: route.body === undefined ? {} : checkObject(route.body, await readJsonBody(request), 'body'),
    ...(principal && { principal }),
    request,
    response,
    authorize: (effect, note) =>
      authorizeTokenHolder(context.store, {
        effect,
        by: namePerson(principal!.token, request, userHeader),
        note,
        connection: request.socket,
      }),
    nameHolder: (token) => namePerson(token, request, userHeader),
  };
  const value = await route.handle(call);
  if (value !== undefined) sendValue(response, value);
}

/** The name of the person behind a request: from the proxy, from the token, or the user who started the server. */
function namePerson(token: TokenRecord, { headers }: IncomingMessage, userHeader: string | undefined): string {
  const name = userHeader === undefined ? undefined : headers[userHeader];
  if (typeof name === 'string' && name !== '') return `${cleanLine(name).slice(0, 100)} (${token.name})`;
  return token.name === startTokenName ? token.by : token.name;
}

function findRoute(routes: readonly Route[], method: string, segments: readonly string[]): Match | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method;
  for (const route of routes) {
    if (route.method !== wanted || (method === 'HEAD' && route.needsHeader === true)) continue;
    const params = matchPath(route.path, segments);
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

function matchPath(path: string, segments: readonly string[]): Readonly<Record<string, string>> | undefined {
  const parts = path.slice(1).split('/');
  if (parts.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const segment = segments[at]!;
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
    if (name === undefined ? part !== segment : segment === '') return undefined;
    if (name !== undefined) params[name] = segment;
  }
  return params;
}

function noRouteError(routes: readonly Route[], segments: readonly string[]): HttpError {
  return routes.some(({ path }) => matchPath(path, segments) !== undefined)
    ? new HttpError(405, 'method_not_allowed', 'this path does not take this method')
    : new HttpError(404, 'not_found', 'there is no such path; /api/openapi.json lists them');
}
