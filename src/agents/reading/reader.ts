/** What every reader is: lines in, events out. It keeps only what later lines need, and it never throws. */

import { nameLengthMax } from '../../core/limits.ts';
import type { AgentEvent } from './agent-event.ts';

/** Turns lines of output into agent events. */
export interface Reader {
  /** What one line says; nothing for a line that says nothing. */
  read(line: string): readonly AgentEvent[];
  /** What is due at the end of the stream. */
  end(): readonly AgentEvent[];
}

export const noEvents: readonly AgentEvent[] = Object.freeze([]);
/** A sign of life and nothing more. */
export const heartbeatOnly: readonly AgentEvent[] = Object.freeze([Object.freeze({ type: 'heartbeat' } as const)]);

/** What an event is while it is put together: adding fields one by one is much faster than spreading them. */
export type Draft<E> = { -readonly [K in keyof E]: E[K] };

/** An object of a foreign event. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A reader of lines that are one JSON object each. What is none is shown as it is; an event that nobody knows, or that
 * cannot be read, is a sign of life.
 */
export function jsonReader(readEvent: (event: JsonObject) => readonly AgentEvent[], end = () => noEvents): Reader {
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
        const events = readEvent(event as JsonObject);
        return events.length === 0 ? heartbeatOnly : events;
      } catch {
        return heartbeatOnly; // A field that is not what it has always been: the rest of the stream may still be read.
      }
    },
    end,
  };
}

const brace = 123;

/** The first character that is no blank; 0 where all are. */
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

/** A text, or undefined where there is none worth the name. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A name as it may become part of a key: bounded, and without halves of characters. */
export function asKeyName(text: string): string {
  return text.slice(0, nameLengthMax / 2).toWellFormed() || 'unnamed';
}

/** A count as it should be: whole and not negative, whatever came. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && value > 0 && value < 1e15 ? Math.ceil(value) : 0;
}
