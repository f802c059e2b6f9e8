/**
 * The interface of all readers: lines in, events out. A reader keeps only state that later lines need, and never
 * throws.
 */

import { createRecentMap } from '../../core/bounded.ts';
import { nameLengthMax, openCallsMax } from '../../core/limits.ts';
import { readCount } from '../../core/read-count.ts';
import type { AgentEvent } from './agent-event.ts';

/** Turns lines of output into agent events. */
export interface Reader {
  /** The events of one line. */
  read(line: string): readonly AgentEvent[];
  /** The events at the end of the stream. */
  end(): readonly AgentEvent[];
}

export const noEvents: readonly AgentEvent[] = Object.freeze([]);
/** The events of a line that is only a sign of life. */
export const heartbeatOnly: readonly AgentEvent[] = Object.freeze([Object.freeze({ type: 'heartbeat' } as const)]);

/** An event under construction: adding fields one by one is much faster than spreading objects. */
export type Draft<E> = { -readonly [K in keyof E]: E[K] };

/** A parsed JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Creates a reader of lines that are one JSON object each. Any other line is shown unchanged; an unknown or invalid
 * event is a sign of life.
 */
export function jsonReader(readEvent: (event: JsonObject) => readonly AgentEvent[], end = () => noEvents): Reader {
  const addTimes = createCallTimes();
  return {
    read(line) {
      const first = firstCodeOf(line);
      if (first === 0) return noEvents;
      if (first !== brace) return [{ type: 'output', text: line }];
      let event: unknown;
      try {
        event = JSON.parse(line);
      } catch {
        return [{ type: 'output', text: line }];
      }
      try {
        const events = addTimes(readEvent(event as JsonObject), (event as JsonObject).timestamp);
        return events.length === 0 ? heartbeatOnly : events;
      } catch {
        return heartbeatOnly; // A field has an unexpected type; the rest of the stream may still be readable.
      }
    },
    end,
  };
}

/** Adds to results how long their calls took, by the times of their lines: a file is read after they were written. */
function createCallTimes() {
  const begins = createRecentMap<number>(openCallsMax);
  return (events: readonly AgentEvent[], timestamp: unknown): readonly AgentEvent[] => {
    const atMs = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
    if (Number.isNaN(atMs)) return events;
    return events.map((event) => {
      if (event.type === 'tool_use') begins.set(event.id, atMs);
      const beganMs = event.type === 'tool_result' ? begins.get(event.id) : undefined;
      return beganMs === undefined || beganMs >= atMs ? event : ({ ...event, tookMs: atMs - beganMs } as AgentEvent);
    });
  };
}

const brace = 123;

/** The code of the first character that is not a blank, or 0. */
function firstCodeOf(line: string): number {
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code > 32 && code !== 0xfeff) return code;
  }
  return 0;
}

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : none;
}

const none: JsonObject = Object.freeze({});

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : empty;
}

const empty: readonly unknown[] = Object.freeze([]);

/** The value if it is a text that is not empty, otherwise undefined. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A name for use in a key: bounded, and without half surrogate pairs. */
export function asKeyName(text: string): string {
  return text.slice(0, nameLengthMax / 2).toWellFormed() || 'unnamed';
}

/** The value as a count: a whole number that is not negative; 0 if the value cannot be read. */
export function asCount(value: unknown): number {
  return readCount(value) ?? 0;
}
