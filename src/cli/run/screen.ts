/**
 * The output of a run: the agent's output passes unchanged, lines of Switchgear go to stderr, and a terminal has a
 * status line at the bottom. The status line is removed before any output, and is never drawn into an incomplete line
 * of the agent.
 */

import { stripVTControlCharacters } from 'node:util';
import { cleanLine, sliceWhole } from '../../core/foreign-text.ts';
import { statusDrawMs } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import { cleanOutput } from '../command.ts';

/** The subset of a stream that is used. */
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
  /** Whether the lines of Switchgear have styles. @default false */
  readonly coloured?: boolean | undefined;
  /** Returns the text of the status line; absent if there is none. */
  readonly status?: () => string;
}

export interface Screen {
  /** Passes output of the agent on; returns a promise if the caller must wait. */
  out(data: Uint8Array | string): Promise<void> | undefined;
  err(data: Uint8Array | string): Promise<void> | undefined;
  /** A promise to wait for before more output, if a stream is full. */
  pendingDrain(): Promise<void> | undefined;
  /** Prints a line of Switchgear to stderr, cleaned: it may contain text of the agent. */
  printLine(line: string): void;
  /** Removes the status line permanently. */
  close(): void;
}

const erase = '\r\u001b[2K';

export function createScreen({ stdout, stderr, clock, coloured = false, status }: ScreenOptions): Screen {
  const showsStatus = status !== undefined && stderr.isTTY === true;
  const sharesTerminal = stdout.isTTY === true;
  /** The drawn text of the status line; empty if there is none. */
  let drawnText = '';
  /** Whether the cursor is at the start of a line. */
  let atLineStart = true;
  /** Full streams, each with the promise of its drain. */
  const pendingDrains = new Map<Sink, Promise<void>>();
  let cancelDraw = showsStatus ? clock.after(statusDrawMs, draw) : undefined;

  function draw(): void {
    cancelDraw = clock.after(statusDrawMs, draw);
    if (!atLineStart || isDestroyed(stderr)) return;
    const text = cleanLine(status!()).slice(0, Math.max(0, (stderr.columns ?? 80) - 1));
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
      void write(stderr, `${isMidLine ? '\n' : ''}${cleanOutput(line, coloured, cleanLine)}\n`);
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

/** Waits until a stream drains or closes. */
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

/** Formats a text of an agent as one line without control characters, cut to a length. */
export function formatSingleLine(text: string, lengthMax: number): string {
  const line = cleanLine(stripVTControlCharacters(text.slice(0, 4 * lengthMax)), ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length > lengthMax ? `${sliceWhole(line, lengthMax - 1)}…` : line;
}
