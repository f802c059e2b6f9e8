/** Starts the page. */

import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.tsx';
import { startAttention } from './attention.ts';
import { startKeyboard } from './keyboard.ts';
import { startInbox } from './live/inbox-store.ts';
import { startLive, stopLive } from './live/stream.ts';
import { findSession } from './session.ts';
import { session } from './state.ts';

const place = document.getElementById('page')!;
place.replaceChildren();
render(<App />, place);
startKeyboard();
startAttention();
void findSession();

/** While somebody is signed in, the page is live. */
effect(() => {
  if (typeof session.value !== 'object') return;
  const stopInbox = startInbox();
  startLive();
  return () => {
    stopInbox();
    stopLive();
  };
});
