/** The live connection: journal entries of the server, read by one page of the browser and shared with its others. */

import { batch } from '@preact/signals';
import type { Entry } from '../../../src/core/event.ts';
import { makeOwnHeaders, onSignedOut } from '../api.ts';
import { createEventReader, reconnectDelayMs, type StreamEvent } from '../logic/event-stream.ts';
import { type Connection, connection } from '../state.ts';

/** What one page tells the others. */
type ChannelMessage =
  | { readonly type: 'events'; readonly events: readonly StreamEvent[] }
  | { readonly type: 'connection'; readonly connection: Connection }
  | { readonly type: 'hello' };

type EntriesListener = (entries: readonly Entry[]) => void;

const entriesListeners = new Set<EntriesListener>();
const resyncListeners = new Set<() => void>();

/** Calls the listener with new entries, several at once if many come; returns a function that ends it. */
export function onEntries(listener: EntriesListener): () => void {
  entriesListeners.add(listener);
  return () => entriesListeners.delete(listener);
}

/** Calls the listener when everything must be read anew; returns a function that ends it. */
export function onResync(listener: () => void): () => void {
  resyncListeners.add(listener);
  return () => resyncListeners.delete(listener);
}

/** Entries that are shown together, and how long the first of them waits. */
const gatherMs = 16;
/** No data for so long means that the connection is dead: the server sends a comment every 15 s. */
const silenceMs = 40_000;

const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('switchgear-live');
let isLeader = false;
let lastSeq: number | undefined;
let stopReading: AbortController | undefined;
let gathered: Entry[] = [];

/** Starts the connection of this page, or takes part in that of another page. Call once per session. */
export function startLive(): void {
  stopLive();
  const stop = new AbortController();
  stopReading = stop;
  if (channel !== undefined) channel.onmessage = ({ data }) => onChannelMessage(data as ChannelMessage);
  if (channel === undefined || !('locks' in navigator)) {
    void readForever(stop.signal);
    return;
  }
  // The page that holds the lock reads; when it is closed, the next one continues where the events stopped.
  navigator.locks
    .request('switchgear-live', { signal: stop.signal }, async () => {
      isLeader = true;
      await readForever(stop.signal);
      isLeader = false;
    })
    .catch(() => undefined);
  channel.postMessage({ type: 'hello' } satisfies ChannelMessage);
}

/** Ends the connection of this page. */
export function stopLive(): void {
  stopReading?.abort();
  stopReading = undefined;
}

function onChannelMessage(message: ChannelMessage): void {
  if (message.type === 'hello') {
    if (isLeader) tellOthers({ type: 'connection', connection: connection.value });
  } else if (isLeader) return;
  else if (message.type === 'connection') connection.value = message.connection;
  else for (const event of message.events) takeEvent(event);
}

function tellOthers(message: ChannelMessage): void {
  if (isLeader) channel?.postMessage(message);
}

function setConnection(next: Connection): void {
  connection.value = next;
  tellOthers({ type: 'connection', connection: next });
}

async function readForever(signal: AbortSignal): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    if (await readOnce(signal)) attempt = 0;
    if (signal.aborted) return;
    setConnection({ state: 'reconnecting' });
    await wait(reconnectDelayMs(attempt, Math.random()), signal);
  }
}

/** Reads one response to its end; returns whether it began. */
async function readOnce(signal: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  let hasBegun = false;
  try {
    const response = await fetch('/api/events', {
      headers: { ...makeOwnHeaders(), ...(lastSeq !== undefined && { 'last-event-id': String(lastSeq) }) },
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (response.status === 401) onSignedOut();
    if (!response.ok || response.body === null) return false;
    const read = createEventReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      hasBegun = true;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMs);
      const events = read(part.value);
      if (events.length === 0) continue;
      tellOthers({ type: 'events', events });
      for (const event of events) takeEvent(event);
    }
  } catch {
    // The connection was cut; the caller tries again.
  } finally {
    clearTimeout(timer);
  }
  return hasBegun;
}

function takeEvent({ type, data }: StreamEvent): void {
  const value = JSON.parse(data) as Record<string, unknown>;
  if (type === 'entry') {
    const entry = value as unknown as Entry;
    lastSeq = entry.seq;
    if (gathered.push(entry) === 1) setTimeout(deliver, gatherMs);
  } else if (type === 'hello') onHello(value);
  else if (type === 'store') setHealth(value.state === 'recovered' ? undefined : String(value.reason ?? value.state));
  else if (type === 'resync') {
    lastSeq = Number(value.seq);
    for (const listener of resyncListeners) listener();
  }
}

/** The first event of a connection. Without a number to continue from, entries may be missing: read anew. */
function onHello({ seq, health }: Record<string, unknown>): void {
  const { state, reason } = (health ?? {}) as { state?: string; reason?: string };
  setHealth(state === 'shared' || state === undefined ? undefined : (reason ?? state));
  if (lastSeq === undefined) {
    lastSeq = Number(seq);
    for (const listener of resyncListeners) listener();
  }
}

function setHealth(reason: string | undefined): void {
  setConnection(reason === undefined ? { state: 'live' } : { state: 'store-away', reason });
}

function deliver(): void {
  const entries = gathered;
  gathered = [];
  batch(() => {
    for (const listener of entriesListeners) listener(entries);
  });
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
