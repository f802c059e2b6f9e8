/**
 * The live events of a store: its journal as a stream of server-sent events. All clients share one buffer of the newest
 * entries; a client that is slower has no queue but a place in the journal, and reads on from there.
 */

import type { ServerResponse } from 'node:http';
import type { Entry } from '../../core/event.ts';
import { HttpError } from '../../http/http-error.ts';
import { findLastSeq, readJournalEntries } from '../../operator/journal.ts';
import type { CrossProcessStore, StoreHint } from '../../ports/store.ts';
import {
  streamBeatMs,
  streamBufferMax,
  streamBusyMs,
  streamClientsMax,
  streamIdlePollMs,
  streamLagMax,
  streamPollMs,
  streamStuckMs,
} from './limits.ts';
import { formatJson, securityHeaders } from './respond.ts';

/** The streams of a server. */
export interface EventFeed {
  /** Streams the entries after a sequence number, or new ones; `isAllowed` is asked again with every heartbeat. */
  open(response: ServerResponse, after: number | undefined, isAllowed: () => Promise<boolean>): Promise<void>;
  /** Ends all streams. */
  close(): void;
}

interface Client {
  readonly response: ServerResponse;
  readonly isAllowed: () => Promise<boolean>;
  /** The last entry that was written. */
  cursor: number;
  /** Since when data waits to be read by the client; -1 = none does. */
  blockedMs: number;
  /** Whether older entries are being read from the store. */
  isCatchingUp: boolean;
}

/** Bytes that are written to a client at once. */
const chunkMax = 65_536;
/** Chunks that are remembered for other clients at the same place. */
const chunksMax = 8;
/** Entries that are read at once for a client behind the buffer. */
const catchUpMax = 200;

/** Creates the feed of a store; it reads the journal only while there are clients. */
export function createEventFeed(store: CrossProcessStore): EventFeed {
  const { shared, clock } = store;
  const clients = new Set<Client>();
  /** The newest entries, oldest first, formatted. */
  let buffer: { readonly seq: number; readonly text: string }[] = [];
  /** Chunks of the buffer by the entry before them: clients at the same place are sent the same bytes. */
  const chunks = new Map<number, { readonly bytes: Buffer; readonly lastSeq: number }>();
  let last = 0;
  let newestAtMs = Number.NEGATIVE_INFINITY;
  let isPolling = false;
  let cancelPoll = () => {};
  let starting: Promise<void> | undefined;
  let stopTimers: readonly (() => void)[] = [];

  function start(): Promise<void> {
    starting ??= (async () => {
      setBuffer([]);
      last = await findLastSeq(shared);
      stopTimers = [() => cancelPoll(), repeat(streamBeatMs, beat), shared.watch(onHint)];
      schedulePoll();
    })().catch((error: unknown) => {
      starting = undefined; // The next client tries again.
      throw error;
    });
    return starting;
  }

  /** Polls often while entries come, and less often on an idle store. */
  function schedulePoll(): void {
    cancelPoll();
    if (starting === undefined) return;
    const isBusy = clock.nowMs() - newestAtMs < streamBusyMs;
    cancelPoll = clock.after(isBusy ? streamPollMs : streamIdlePollMs, () => void readNew());
  }

  function setBuffer(next: typeof buffer): void {
    buffer = next;
    chunks.clear();
  }

  function repeat(delayMs: number, run: () => void): () => void {
    let cancel = clock.after(delayMs, function again() {
      cancel = clock.after(delayMs, again);
      run();
    });
    return () => cancel();
  }

  function stop(): void {
    for (const stopOne of stopTimers) stopOne();
    stopTimers = [];
    starting = undefined;
  }

  function onHint(hint: StoreHint): void {
    if (hint.type === 'cell-changed') {
      void readNew();
      return;
    }
    const health = formatEvent('store', undefined, { state: hint.type, reason: hint.reason });
    for (const client of clients) if (client.blockedMs < 0) write(client, health);
    if (hint.type === 'recovered') void restart();
  }

  /** Begins again after the store was away: its journal may be another one. */
  async function restart(): Promise<void> {
    const newest = await findLastSeq(shared).catch(() => undefined);
    // The polls after a failed read find what is new; only a read that succeeded tells of another journal.
    if (newest === undefined || newest >= last) return;
    last = newest;
    setBuffer([]);
    for (const client of clients) resynchronize(client);
  }

  async function readNew(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    try {
      const entries = await readJournalEntries(shared, last + 1, streamBufferMax);
      if (entries.length > 0) {
        const added = entries.map((entry) => ({ seq: entry.seq, text: formatEntryEvent(entry) }));
        setBuffer([...buffer, ...added].slice(-streamBufferMax));
        last = entries.at(-1)!.seq;
        newestAtMs = clock.nowMs();
        for (const client of clients) flush(client);
      }
    } catch {
      // The store is away; the next poll tries again.
    } finally {
      isPolling = false;
      schedulePoll();
    }
  }

  function flush(client: Client): void {
    if (client.blockedMs >= 0 || client.isCatchingUp || client.cursor >= last) return;
    if (last - client.cursor > streamLagMax) {
      resynchronize(client);
      return;
    }
    const first = buffer[0]?.seq ?? last + 1;
    if (client.cursor + 1 < first) {
      void catchUp(client);
      return;
    }
    const { bytes, lastSeq } = findChunk(client.cursor);
    client.cursor = lastSeq;
    if (write(client, bytes) && client.cursor < last) queueMicrotask(() => flush(client));
  }

  /** The next bytes of the buffer after an entry. */
  function findChunk(cursor: number): { readonly bytes: Buffer; readonly lastSeq: number } {
    const known = chunks.get(cursor);
    if (known !== undefined) return known;
    let at = buffer.length;
    while (at > 0 && buffer[at - 1]!.seq > cursor) at--;
    let text = '';
    let lastSeq = cursor;
    for (; at < buffer.length && text.length < chunkMax; at++) {
      text += buffer[at]!.text;
      lastSeq = buffer[at]!.seq;
    }
    if (chunks.size >= chunksMax) chunks.delete(chunks.keys().next().value!);
    const chunk = { bytes: Buffer.from(text), lastSeq };
    chunks.set(cursor, chunk);
    return chunk;
  }

  /** Reads the entries between the client and the buffer from the store, one page at a time. */
  async function catchUp(client: Client): Promise<void> {
    client.isCatchingUp = true;
    let entries: readonly Entry[] = [];
    try {
      entries = await readJournalEntries(shared, client.cursor + 1, catchUpMax);
    } catch {
      // The next poll tries again.
    }
    client.isCatchingUp = false;
    if (entries.length === 0 || !clients.has(client)) return;
    // The journal does not have the next entry any more.
    if (entries[0]!.seq > client.cursor + 1) {
      resynchronize(client);
      return;
    }
    client.cursor = entries.at(-1)!.seq;
    if (write(client, entries.map(formatEntryEvent).join(''))) flush(client);
  }

  /** Tells a client to read the state anew: entries are missing, or there are too many. */
  function resynchronize(client: Client): void {
    client.cursor = last;
    write(client, formatEvent('resync', last, { seq: last }));
  }

  /** Writes; returns false if the client must read first. */
  function write(client: Client, data: string | Buffer): boolean {
    if (client.response.write(data)) return true;
    if (client.blockedMs < 0) {
      client.blockedMs = clock.nowMs();
      client.response.once('drain', () => {
        client.blockedMs = -1;
        flush(client);
      });
    }
    return false;
  }

  function beat(): void {
    const atMs = clock.nowMs();
    for (const client of clients) {
      if (client.blockedMs < 0) write(client, ': beat\n\n');
      else if (atMs - client.blockedMs > streamStuckMs) client.response.destroy();
      client.isAllowed().then(
        (isAllowed) => {
          if (!isAllowed) client.response.end();
        },
        () => undefined,
      );
    }
  }

  return {
    async open(response, after, isAllowed) {
      if (clients.size >= streamClientsMax)
        throw new HttpError(503, 'too_many_streams', `a server has at most ${streamClientsMax} event streams`, 5);
      await start();
      // An entry number beyond the end is of another journal.
      const isKnown = after !== undefined && after <= last;
      const client: Client = {
        response,
        isAllowed,
        cursor: isKnown ? after : last,
        blockedMs: -1,
        isCatchingUp: false,
      };
      if (response.destroyed) return;
      clients.add(client);
      response.on('close', () => {
        clients.delete(client);
        if (clients.size === 0) stop();
      });
      response.writeHead(200, {
        ...securityHeaders,
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      });
      write(client, formatEvent('hello', undefined, { seq: last, health: shared.health }));
      if (after !== undefined && !isKnown) resynchronize(client);
      else flush(client);
    },
    close() {
      for (const { response } of clients) response.end();
      stop();
    },
  };
}

function formatEntryEvent(entry: Entry): string {
  return formatEvent('entry', entry.seq, entry);
}

/** Formats one event; JSON has no line breaks. */
function formatEvent(type: string, id: number | undefined, data: unknown): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${formatJson(data)}\n\n`;
}
