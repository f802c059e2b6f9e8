/** Draws attention to new cards: the title, the favicon, and by choice a sound and a notification. */

import { effect } from '@preact/signals';
import { inbox, inboxLoading, openCount } from './live/inbox-store.ts';
import { formatCount } from './logic/format.ts';
import { announce, preferences, route, session } from './state.ts';
import { views } from './views/registry.ts';

/** How long new cards are gathered before one message is given. */
const gatherMs = 400;

/** Keeps title and favicon current, and tells of new cards. */
export function startAttention(): void {
  effect(() => {
    const isSignedIn = typeof session.value === 'object';
    const count = isSignedIn ? openCount.value : 0;
    const title = isSignedIn ? views.find(({ id }) => id === route.value.view)?.title : 'Sign in';
    document.title = `${count > 0 ? `(${count}) ` : ''}${title} – Switchgear`;
    drawFavicon(count);
  });
  let known: ReadonlySet<string> | undefined;
  let fresh = 0;
  effect(() => {
    const { cards } = inbox.value;
    const { isLoaded } = inboxLoading.value;
    const before = known;
    known = isLoaded ? new Set(cards.map(({ id }) => id)) : undefined;
    if (before === undefined || known === undefined) return;
    const count = cards.filter(({ id, kind }) => kind !== 'notice' && !before.has(id)).length;
    if (count === 0) return;
    fresh += count;
    if (fresh === count)
      setTimeout(() => {
        tellOfCards(fresh);
        fresh = 0;
      }, gatherMs);
  });
}

function tellOfCards(count: number): void {
  const text = `${formatCount(count, 'new card')}.`;
  announce(text);
  const { sound, notifications } = preferences.peek();
  if (sound) playSound();
  if (notifications && document.hidden && Notification.permission === 'granted') {
    // The text has no data: notifications are shown on locked screens.
    const notification = new Notification('Switchgear', { body: text, tag: 'switchgear-cards' });
    notification.onclick = () => {
      window.focus();
      location.hash = '#/inbox';
    };
  }
}

/** Two short tones. */
export function playSound(): void {
  const context = new AudioContext();
  const gain = context.createGain();
  gain.gain.value = 0.06;
  gain.connect(context.destination);
  for (const [at, frequency] of [660, 880].entries()) {
    const tone = context.createOscillator();
    tone.frequency.value = frequency;
    tone.connect(gain);
    tone.start(context.currentTime + at * 0.14);
    tone.stop(context.currentTime + at * 0.14 + 0.12);
    if (at === 1) tone.onended = () => void context.close();
  }
}

function drawFavicon(count: number): void {
  const label = count > 99 ? '99' : String(count);
  const dot =
    count === 0
      ? ''
      : `<circle cx="22" cy="10" r="10" fill="#c8321f"/><text x="22" y="14.5" font-family="sans-serif" font-size="${
          label.length > 1 ? 11 : 13
        }" font-weight="700" text-anchor="middle" fill="#fff">${label}</text>`;
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#23395b"/>' +
    `<path d="M9 24v-6l10-8M9 24h14" stroke="#fff" stroke-width="3" stroke-linecap="round" fill="none"/>${dot}</svg>`;
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  if (link !== null) link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
