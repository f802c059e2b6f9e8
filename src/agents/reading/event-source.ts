/**
 * Remembers the sources of events. A session file may report a call that the stream has reported, so that the same id
 * is the same call; in one stream the same id after a result is another call.
 */

import type { AgentEvent } from './agent-event.ts';
import type { Reader } from './reader.ts';

/** The source of an event: the output of the agent, its session files, or unknown. */
export type EventSource = 'stream' | 'files' | 'unknown';

const sources = new WeakMap<AgentEvent, EventSource>();

/** Marks the calls and results that a reader reports. */
export function markEventsOf<R extends Reader>(reader: R, source: EventSource): R {
  const read = reader.read.bind(reader);
  reader.read = (line) => markEvents(read(line), source);
  return reader;
}

/** Marks calls and results; other events need no source. */
export function markEvents(events: readonly AgentEvent[], source: EventSource): readonly AgentEvent[] {
  for (const event of events) if (event.type === 'tool_use' || event.type === 'tool_result') sources.set(event, source);
  return events;
}

export function sourceOf(event: AgentEvent): EventSource {
  return sources.get(event) ?? 'unknown';
}
