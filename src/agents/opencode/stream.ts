/** Reads `opencode run --format json`: steps with texts and finished tool calls. */

import type { AgentEvent } from '../reading/agent-event.ts';
import { asObject, asText, type JsonObject, jsonReader, noEvents, type Reader } from '../reading/reader.ts';
import { asSessionId } from '../reading/session-id.ts';
import { readOpencodeStep, readOpencodeTool } from './message-parts.ts';

export interface OpencodeOptions {
  /** The model on the command line; the stream does not contain it. */
  readonly model?: string;
}

/** Creates a reader of the event stream of opencode (`run --format json`). */
export function opencodeReader(options: OpencodeOptions = {}): Reader {
  return jsonReader(opencodeEventReader(options));
}

/** Creates a function that reads parsed events of opencode. */
export function opencodeEventReader({ model }: OpencodeOptions = {}): (event: JsonObject) => readonly AgentEvent[] {
  let session: string | undefined;

  function readEvent(event: JsonObject): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    const id = asSessionId(event.sessionID);
    if (session === undefined && id !== undefined) {
      session = id;
      events.push({ type: 'session', id, ...(model && { model }) });
    }
    const part = asObject(event.part);
    switch (event.type) {
      case 'step_start':
        events.push({ type: 'step', on: true });
        return events;
      case 'text': {
        const text = asText(part.text);
        const message = asText(part.messageID);
        if (text !== undefined) events.push({ type: 'assistant', text, ...(message && { message }) });
        return events;
      }
      case 'tool_use':
        readOpencodeTool(part, undefined, events);
        return events;
      case 'step_finish':
        events.push({ type: 'step', on: false });
        readOpencodeStep(part, model, undefined, events);
        return events;
      case 'error': {
        const error = asObject(event.error);
        const reason = asText(asObject(error.data).message) ?? asText(error.name) ?? 'an error without words';
        events.push({ type: 'result', ok: false, final: true, reason });
        return events;
      }
      default:
        return events.length === 0 ? noEvents : events;
    }
  }

  return readEvent;
}
