/** Sign-in and sign-out: a token is exchanged for a cookie that this script cannot read. */

import { batch } from '@preact/signals';
import { ApiError, apiDelete, apiGet, apiPost, errorText, whenSignedOut } from './api.ts';
import { readTokenFragment } from './logic/route.ts';
import { type PageSession, session, signInReason } from './state.ts';

/** Finds the session of this page: from the token of the address, or from the cookie. */
export async function findSession(): Promise<void> {
  whenSignedOut(() => {
    if (typeof session.peek() !== 'object') return;
    leave('The session ended: it was revoked, or 12 hours are over. Sign in again.');
  });
  const token = readTokenFragment(location.hash);
  if (token !== undefined) {
    // The token must not stay in the address or in the history.
    history.replaceState(null, '', '#/inbox');
    await signIn(token);
    return;
  }
  try {
    session.value = await apiGet<PageSession>('/api/session');
  } catch (error) {
    leave(error instanceof ApiError && error.status === 401 ? '' : errorText(error));
  }
}

/** Exchanges a token for a session. */
export async function signIn(token: string): Promise<void> {
  try {
    session.value = await apiPost<PageSession>('/api/session', { token: token.trim() });
  } catch (error) {
    const isWrong = error instanceof ApiError && error.status === 401;
    leave(
      isWrong ? 'This token is not valid: it is mistyped, revoked, or of a server that has ended.' : errorText(error),
    );
  }
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  await apiDelete('/api/session').catch(() => undefined);
  leave('You are signed out.');
}

function leave(reason: string): void {
  batch(() => {
    signInReason.value = reason;
    session.value = 'none';
  });
}
