/** The state of the page that all views share: session, address, connection, preferences, messages, and the clock. */

import { computed, effect, signal } from '@preact/signals';
import { formatRoute, type PageRoute, parseRoute, type ViewId } from './logic/route.ts';

/** The person who is signed in. */
export interface PageSession {
  readonly name: string;
  readonly role: 'operator' | 'viewer';
}

/** The session: being looked up, absent, or there. */
export const session = signal<PageSession | 'loading' | 'none'>('loading');

/** Whether this person may decide. */
export const isOperator = computed(() => typeof session.value === 'object' && session.value.role === 'operator');

/** Why there is no session, for the form of the sign-in. */
export const signInReason = signal('');

/** The state of the live connection. */
export interface Connection {
  readonly state: 'connecting' | 'live' | 'reconnecting' | 'store-away';
  readonly reason?: string;
}

export const connection = signal<Connection>({ state: 'connecting' });

/** The address inside the page. */
export const route = signal<PageRoute>(parseRoute(location.hash));
addEventListener('hashchange', () => {
  route.value = parseRoute(location.hash);
});

/** Goes to a view. */
export function goTo(view: ViewId, param?: string): void {
  location.hash = formatRoute(view, param);
}

/** The time of the browser, once a second; spans on the page read it. */
export const nowMs = signal(Date.now());
setInterval(() => {
  nowMs.value = Date.now();
}, 1_000);

/** The time of the store minus the time of the browser, as of the last answer that had one. */
const storeOffsetMs = signal(0);

/** Learns the time of the store from an answer. */
export function learnStoreTime(atMs: number): void {
  storeOffsetMs.value = atMs - Date.now();
}

/** The time of the store, once a second: what `…AtMs` and `…UntilMs` of the API are compared with. */
export const storeNowMs = computed(() => nowMs.value + storeOffsetMs.value);

/** The newest message for everybody, screen readers included. */
export const message = signal<{ readonly text: string; readonly tone: 'plain' | 'good' | 'bad'; readonly id: number }>({
  text: '',
  tone: 'plain',
  id: 0,
});

/** Says something in the status region. */
export function announce(text: string, tone: 'plain' | 'good' | 'bad' = 'plain'): void {
  message.value = { text, tone, id: message.value.id + 1 };
}

/** The preferences of this browser. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly sound: boolean;
  readonly notifications: boolean;
  readonly singleKeys: boolean;
}

const preferencesKey = 'switchgear.preferences';
const defaults: Preferences = { theme: 'system', sound: false, notifications: false, singleKeys: true };

export const preferences = signal<Preferences>(readPreferences());

function readPreferences(): Preferences {
  try {
    const stored = JSON.parse(localStorage.getItem(preferencesKey) ?? '{}') as Partial<Preferences>;
    const theme = (['system', 'light', 'dark'] as const).find((each) => each === stored.theme) ?? defaults.theme;
    return {
      theme,
      sound: stored.sound === true,
      notifications: stored.notifications === true,
      singleKeys: stored.singleKeys !== false,
    };
  } catch {
    return defaults;
  }
}

/** Changes preferences, and keeps them in this browser. */
export function setPreferences(change: Partial<Preferences>): void {
  preferences.value = { ...preferences.value, ...change };
  try {
    localStorage.setItem(preferencesKey, JSON.stringify(preferences.value));
  } catch {
    // A browser without storage keeps them until the page is closed.
  }
}

effect(() => {
  const { theme } = preferences.value;
  if (theme === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
});
