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
  pendingDrain(): Promise<void> | undefined;
  /** Says a line of our own, on stderr. */
  printLine(line: string): void;
  /** Takes the line away, for good. */
  close(): void;
}

const erase = '\r\u001b[2K';

export function createScreen({ stdout, stderr, clock, status }: ScreenOptions): Screen {
  const showsStatus = status !== undefined && stderr.isTTY === true;
  const sharesTerminal = stdout.isTTY === true;
  /** What the line says; empty where there is none. */
  let drawnText = '';
  /** Whether what was printed last ended its line; the cursor stands inside one otherwise. */
  let atLineStart = true;
  /** Streams that take no more now, each with its one promise to do so again. */
  const pendingDrains = new Map<Sink, Promise<void>>();
  let cancelDraw = showsStatus ? clock.after(statusDrawMs, draw) : undefined;

  function draw(): void {
    cancelDraw = clock.after(statusDrawMs, draw);
    if (!atLineStart || isDestroyed(stderr)) return;
    const text = status!().slice(0, Math.max(0, (stderr.columns ?? 80) - 1));
    if (text === drawnText) return;
    stderr.write(erase + text);
    drawnText = text;
  }

  function clear(): void {
    if (drawnText !== '') stderr.write(erase);
    drawnText = '';
  }

  function write(sink: Sink, data: Uint8Array | string): Promise<void> | undefined {
    if (data.length === 0 || isDestroyed(sink)) return undefined;
    if (showsStatus && (sharesTerminal || sink === stderr)) {
      clear();
      atLineStart = data.at(-1) === (typeof data === 'string' ? '\n' : 10);
    }
    const isAccepted = sink.write(data);
    return isAccepted || isDestroyed(sink) ? undefined : drainSink(sink);
  }

  function drainSink(sink: Sink): Promise<void> {
    const pending = pendingDrains.get(sink);
    if (pending !== undefined) return pending;
    const drain = waitForDrain(sink).then(() => void pendingDrains.delete(sink));
    pendingDrains.set(sink, drain);
    return drain;
  }

  return {
    out: (data) => write(stdout, data),
    pendingDrain: () => pendingDrains.get(stdout) ?? pendingDrains.get(stderr),
    err: (data) => write(stderr, data),
    printLine(line) {
      const isMidLine = showsStatus && !atLineStart;
      void write(stderr, `${isMidLine ? '\n' : ''}${line}\n`);
    },
    close() {
      cancelDraw?.();
      cancelDraw = undefined;
      clear();
    },
  };
}

function isDestroyed({ destroyed }: Sink): boolean {
  return destroyed === true;
}

/** Waits until a stream takes more, or is gone. */
function waitForDrain(sink: Sink): Promise<void> {
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
export function formatSingleLine(text: string, lengthMax: number): string {
  const line = stripVTControlCharacters(text.slice(0, 4 * lengthMax))
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > lengthMax ? `${line.slice(0, lengthMax - 1)}…` : line;
}
