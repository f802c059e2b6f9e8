/** Reads server-sent events from pieces of text. */

/** One event of a stream. */
export interface StreamEvent {
  readonly type: string;
  readonly id?: string;
  readonly data: string;
}

/** The longest text without an end of an event; a longer one is dropped. */
const pendingMax = 4_000_000;

/** Creates a reader that takes the pieces of a stream and returns the events that are complete. */
export function createEventReader(): (piece: string) => readonly StreamEvent[] {
  let pending = '';
  return (piece) => {
    pending += piece;
    const blocks = pending.split(/\r?\n\r?\n/);
    pending = blocks.pop() ?? '';
    if (pending.length > pendingMax) pending = '';
    return blocks.flatMap((block) => parseEvent(block) ?? []);
  };
}

/** Comments and fields of other names are skipped; an event without data is none. */
function parseEvent(block: string): StreamEvent | undefined {
  let type = 'message';
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, '');
    const field = line.slice(0, colon);
    if (field === 'event') type = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 ? undefined : { type, ...(id !== undefined && { id }), data: data.join('\n') };
}

/** How long to wait before the next attempt to connect: doubles up to 15 s; `random` from 0 to 1 spreads clients. */
export function reconnectDelayMs(attempt: number, random: number): number {
  return Math.round(Math.min(15_000, 250 * 2 ** Math.min(attempt, 10)) * (0.5 + random / 2));
}
