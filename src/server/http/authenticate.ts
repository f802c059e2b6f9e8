/** Finds out whose token or session a request has; slows down who guesses. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { failedAddressesMax, failedTokenDelayMs, failedTokensMax, failedTokensWindowMs } from './limits.ts';
import { findSession, findToken, type Role, type TokenRecord } from './tokens.ts';

/**
 * The header with the key of a page, beside its cookie. Browsers send a cookie to every port of a machine, so that
 * another server of this machine, such as one that an agent has started, learns the cookie; it never learns the key.
 */
export const pageKeyHeader = 'x-switchgear-page';

/** The holder of a valid token. */
export interface Principal {
  readonly token: TokenRecord;
  readonly role: Role;
  /** The session, if the request came with one. */
  readonly session?: string;
}

/** Checks the tokens of requests to one server. */
export interface Authenticator {
  /** The principal of a request; throws 401 without a valid token, and 429 after too many wrong ones. */
  authenticate(request: IncomingMessage): Promise<Principal>;
  /** The record of a token; throws as `authenticate` does. */
  checkToken(request: IncomingMessage, text: string): Promise<TokenRecord>;
  /** The name of the cookie of a session. */
  readonly cookieName: string;
}

/** Creates the authenticator of a server; `own` are the tokens that only this server knows. */
export function createAuthenticator(
  store: CrossProcessStore,
  own: readonly TokenRecord[],
  getPort: () => number,
): Authenticator {
  const failures = new Map<string, { count: number; readonly sinceMs: number }>();

  /** Counts a wrong token of an address in its minute. */
  function countFailure(address: string): { readonly count: number; readonly sinceMs: number } {
    const atMs = store.clock.nowMs();
    const before = failures.get(address);
    if (before !== undefined && atMs - before.sinceMs < failedTokensWindowMs) {
      before.count++;
      return before;
    }
    failures.delete(address);
    if (failures.size >= failedAddressesMax) failures.delete(failures.keys().next().value!);
    const entry = { count: 1, sinceMs: atMs };
    failures.set(address, entry);
    return entry;
  }

  // A valid token always passes: otherwise any program on the machine could lock its operator out.
  async function checkToken({ socket }: IncomingMessage, text: string): Promise<TokenRecord> {
    const record = await findToken(store, own, text);
    if (record !== undefined) return record;
    const { count, sinceMs } = countFailure(socket.remoteAddress ?? '');
    if (count <= failedTokensMax) throw unauthorizedError();
    const leftMs = sinceMs + failedTokensWindowMs - store.clock.nowMs();
    const retryAfterSecs = Math.max(1, Math.ceil(leftMs / 1000));
    await new Promise<void>((resolve) => void store.clock.after(failedTokenDelayMs, resolve));
    throw new HttpError(429, 'too_many_tokens', 'too many wrong tokens: try again later', retryAfterSecs);
  }

  return {
    checkToken,
    get cookieName() {
      return `switchgear-session-${getPort()}`; // Cookies do not tell ports apart.
    },
    async authenticate(request) {
      const { authorization } = request.headers;
      if (authorization !== undefined) {
        const [, text] = /^Bearer ([\w.-]{1,200})$/.exec(authorization) ?? [];
        const token = await checkToken(request, text ?? '');
        return { token, role: token.role };
      }
      const id = findCookie(request, this.cookieName);
      const pageKey = request.headers[pageKeyHeader];
      if (id === undefined || typeof pageKey !== 'string') throw unauthorizedError();
      const token = await findSession(store, own, { id, pageKey });
      if (token === undefined) throw unauthorizedError();
      return { token, role: token.role, session: id };
    },
  };
}

function findCookie({ headers }: IncomingMessage, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key, value = ''] = pair.trim().split('=', 2);
    if (key === name && /^[\w-]{20,100}$/.test(value)) return value;
  }
  return undefined;
}

function unauthorizedError(): HttpError {
  return new HttpError(401, 'token_required', 'the request needs a valid token');
}
