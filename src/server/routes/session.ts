/** The routes of sessions: a token is exchanged for a cookie that scripts cannot read, and the key of the page. */

import { sessionKeepMs } from '../http/limits.ts';
import { textAnswer } from '../http/respond.ts';
import { defineRoute, type Route, type RouteCall } from '../http/route.ts';
import { objectSchema } from '../http/schema.ts';
import { closeSession, openSession } from '../http/tokens.ts';

export const sessionRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/api/session',
    summary: 'Exchange a token for a session cookie.',
    access: 'open',
    body: objectSchema({ token: { type: 'string', minLength: 1, maxLength: 200 } }, 'token'),
    answer:
      'The name of the person, the role of the token, and pageKey, which requests with the cookie send as ' +
      'x-switchgear-page; the cookie is HttpOnly and SameSite=Strict.',
    async handle({ context, body, request, nameHolder }) {
      const { store, authenticator } = context;
      const record = await authenticator.checkToken(request, body.token!);
      const { id, pageKey } = await openSession(store, record);
      const cookie = makeCookie({ context, request }, id, Math.floor(sessionKeepMs / 1000));
      const text = JSON.stringify({ name: nameHolder(record), role: record.role, pageKey });
      return textAnswer('application/json; charset=utf-8', text, { headers: { 'set-cookie': cookie } });
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/session',
    summary: 'The token behind this request.',
    access: 'viewer',
    answer: 'The name of the person, as answers have it, and the role of the token.',
    handle: ({ principal, nameHolder }) => ({ name: nameHolder(principal!.token), role: principal!.role }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/session',
    summary: 'End the session of the cookie.',
    access: 'viewer',
    answer: 'Whether there was a session.',
    async handle({ context, principal, request }) {
      const { session } = principal!;
      if (session !== undefined) await closeSession(context.store, session);
      const headers = { 'set-cookie': makeCookie({ context, request }, '', 0) };
      const text = JSON.stringify({ ended: session !== undefined });
      return textAnswer('application/json; charset=utf-8', text, { headers });
    },
  }),
];

function makeCookie(
  { context, request }: Pick<RouteCall, 'context' | 'request'>,
  value: string,
  maxAgeSecs: number,
): string {
  // A proxy in front of the server may end TLS.
  const isSecure = 'encrypted' in request.socket || request.headers.origin?.startsWith('https:') === true;
  return [
    `${context.authenticator.cookieName}=${value}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    `Max-Age=${maxAgeSecs}`,
    ...(isSecure ? ['Secure'] : []),
  ].join('; ');
}
