/**
 * Where a run is seen: what the agent prints goes through untouched, what we say goes to stderr, and on a terminal one
 * line at the bottom tells how far it is. That line is taken away before anything is printed, and never put into a line
 * that the agent has begun.
 */

import { stripVTControlCharacters } from 'node:util';
import { statusDrawMs } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';

/** As much of a stream as is needed. */
export interface Sink {
  write(data: Uint8Array | string): boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  removeListener(event: 'drain' | 'close', listener: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly destroyed?: boolean;
}

export interface ScreenOptions {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly clock: Clock;
  /** What the line says now; absent where none is wanted. */
  readonly status?: () => string;
}

export interface Screen {
  /** Passes on what the agent printed; a promise asks to wait until it is gone. */
  out(data: Uint8Array | string): Promise<void> | undefined;
  err(data: Uint8Array | string): Promise<void> | undefined;
  /** What to wait for before more is printed, where one of the two takes no more now. */
  full(): Promise<void> | undefined;
  /** Says a line of our own, on stderr. */
  say(line: string): void;
  /** Takes the line away, for good. */
  close(): void;
}

const erase = '\r\u001b[2K';

export function runScreen({ stdout, stderr, clock, status }: ScreenOptions): Screen {
  const isShown = status !== undefined && stderr.isTTY === true;
  const inOneWindow = stdout.isTTY === true;
  /** What the line says; empty where there is none. */
  let drawn = '';
  /** Whether what was printed last ended its line; the cursor stands inside one otherwise. */
  let atStart = true;
  /** Streams that take no more now, each with its one promise to do so again. */
  const held = new Map<Sink, Promise<void>>();
  let stop = isShown ? clock.after(statusDrawMs, draw) : undefined;

  function draw(): void {
    stop = clock.after(statusDrawMs, draw);
    if (!atStart || isGone(stderr)) return;
    const text = status!().slice(0, Math.max(0, (stderr.columns ?? 80) - 1));
    if (text === drawn) return;
    stderr.write(erase + text);
    drawn = text;
  }

  function clear(): void {
    if (drawn !== '') stderr.write(erase);
    drawn = '';
  }

  function pass(sink: Sink, data: Uint8Array | string): Promise<void> | undefined {
    if (data.length === 0 || isGone(sink)) return undefined;
    if (isShown && (inOneWindow || sink === stderr)) {
      clear();
      atStart = data.at(-1) === (typeof data === 'string' ? '\n' : 10);
    }
    const isTaken = sink.write(data);
    return isTaken || isGone(sink) ? undefined : waitFor(sink);
  }

  function waitFor(sink: Sink): Promise<void> {
    const known = held.get(sink);
    if (known !== undefined) return known;
    const made = drained(sink).then(() => void held.delete(sink));
    held.set(sink, made);
    return made;
  }

  return {
    out: (data) => pass(stdout, data),
    full: () => held.get(stdout) ?? held.get(stderr),
    err: (data) => pass(stderr, data),
    say(line) {
      const isInside = isShown && !atStart;
      void pass(stderr, `${isInside ? '\n' : ''}${line}\n`);
    },
    close() {
      stop?.();
      stop = undefined;
      clear();
    },
  };
}

function isGone({ destroyed }: Sink): boolean {
  return destroyed === true;
}

/** Waits until a stream takes more, or is gone. */
function drained(sink: Sink): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      sink.removeListener('drain', done);
      sink.removeListener('close', done);
      resolve();
    };
    sink.once('drain', done);
    sink.once('close', done);
  });
}

/** Text of an agent for a line of ours: one line, nothing that could steer a terminal, at most so long. */
export function oneLine(text: string, lengthMax: number): string {
  const line = stripVTControlCharacters(text.slice(0, 4 * lengthMax))
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > lengthMax ? `${line.slice(0, lengthMax - 1)}…` : line;
}
