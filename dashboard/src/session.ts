/** Sign-in and sign-out: a token is exchanged for a cookie that this script cannot read. */

import { batch } from '@preact/signals';
import { ApiError, apiDelete, apiGet, apiPost, errorText, whenSignedOut } from './api.ts';
import { readTokenFragment } from './logic/route.ts';
import { type PageSession, session, signInReason } from './state.ts';

/** Finds the session of this page: from the token of the address, or from the cookie. */
export async function findSession(): Promise<void> {
  whenSignedOut(() => {
    if (typeof session.peek() !== 'object') return;
    rememberSession(false);
    leave('The session ended: it was revoked, or 12 hours are over. Sign in again.');
  });
  const token = readTokenFragment(location.hash);
  if (token !== undefined) {
    // The token must not stay in the address or in the history.
    history.replaceState(null, '', '#/inbox');
    await signIn(token);
    return;
  }
  if (!wasSignedIn()) {
    leave('');
    return;
  }
  try {
    session.value = await apiGet<PageSession>('/api/session');
  } catch (error) {
    const isOver = error instanceof ApiError && error.status === 401;
    if (isOver) rememberSession(false);
    leave(isOver ? '' : errorText(error));
  }
}

/** Exchanges a token for a session. */
export async function signIn(token: string): Promise<void> {
  try {
    session.value = await apiPost<PageSession>('/api/session', { token: token.trim() });
    rememberSession(true);
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
  rememberSession(false);
  leave('You are signed out.');
}

function leave(reason: string): void {
  batch(() => {
    signInReason.value = reason;
    session.value = 'none';
  });
}

/** Scripts cannot see the cookie, so the page remembers that there is one, and asks for its session only then. */
const rememberedKey = 'switchgear.session';

function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(rememberedKey) !== null;
  } catch {
    return true;
  }
}

function rememberSession(isThere: boolean): void {
  try {
    if (isThere) localStorage.setItem(rememberedKey, '1');
    else localStorage.removeItem(rememberedKey);
  } catch {
    // A browser without storage asks each time.
  }
}
