/** Sign-in and sign-out: a token is exchanged for a cookie that this script cannot read, and the key of this page. */

import { batch } from '@preact/signals';
import { ApiError, apiDelete, apiGet, apiPost, errorText, setPageKey, whenSignedOut } from './api.ts';
import { readTokenFragment } from './logic/route.ts';
import { type PageSession, session, signInReason } from './state.ts';

/** Finds the session of this page: from the token of the address, or from the cookie. */
export async function findSession(): Promise<void> {
  whenSignedOut(() => {
    if (typeof session.peek() !== 'object') return;
    if (isReplaced()) return void findSession();
    rememberKey(undefined);
    leave('The session ended: it was revoked, or 12 hours are over. Sign in again.');
  });
  const token = readTokenFragment(location.hash);
  if (token !== undefined) {
    // The token must not stay in the address or in the history.
    history.replaceState(null, '', '#/inbox');
    await signIn(token);
    return;
  }
  const key = findKey();
  if (key === null) {
    leave('');
    return;
  }
  usePageKey(key);
  try {
    session.value = await apiGet<PageSession>('/api/session');
  } catch (error) {
    const isOver = error instanceof ApiError && error.status === 401;
    if (isOver) rememberKey(undefined);
    leave(isOver ? '' : errorText(error));
  }
}

/** Exchanges a token for a session. */
export async function signIn(token: string): Promise<void> {
  try {
    const { pageKey, ...found } = await apiPost<PageSession & { readonly pageKey: string }>('/api/session', {
      token: token.trim(),
    });
    usePageKey(pageKey);
    rememberKey(pageKey);
    session.value = found;
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
  rememberKey(undefined);
  leave('You are signed out.');
}

function leave(reason: string): void {
  batch(() => {
    signInReason.value = reason;
    session.value = 'none';
  });
}

/** Where the windows of this origin find the key; other ports of this machine have a storage of their own. */
const keyName = 'switchgear.page-key';

let ownKey: string | undefined;

function usePageKey(key: string): void {
  ownKey = key;
  setPageKey(key);
}

/** Whether another window of this browser has signed in since: its session is that of all windows. */
function isReplaced(): boolean {
  const key = findKey();
  return key !== null && key !== ownKey;
}

function findKey(): string | null {
  try {
    return localStorage.getItem(keyName);
  } catch {
    return null;
  }
}

function rememberKey(key: string | undefined): void {
  try {
    if (key === undefined) localStorage.removeItem(keyName);
    else localStorage.setItem(keyName, key);
  } catch {
    // A browser without storage asks for the token after each reload.
  }
}
