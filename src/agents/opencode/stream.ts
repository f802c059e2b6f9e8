/** Reads `opencode run --format json`: steps, and in them what was said and which tools are done. */

import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, jsonReader, nothing, type Reader, textOf } from '../reading/reader.ts';
import { opencodeStep, opencodeTool } from './message-parts.ts';

export interface OpencodeOptions {
  /** As the command line says; the stream does not tell it. */
  readonly model?: string;
}

export function opencodeReader({ model }: OpencodeOptions = {}): Reader {
  let session: string | undefined;

  function take(event: Fields): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    const id = textOf(event.sessionID);
    if (session === undefined && id !== undefined) {
      session = id;
      events.push({ type: 'session', id, ...(model && { model }) });
    }
    const part = fieldsOf(event.part);
    switch (event.type) {
      case 'step_start':
        events.push({ type: 'step', on: true });
        return events;
      case 'text': {
        const text = textOf(part.text);
        const message = textOf(part.messageID);
        if (text !== undefined) events.push({ type: 'assistant', text, ...(message && { message }) });
        return events;
      }
      case 'tool_use':
        opencodeTool(part, undefined, events);
        return events;
      case 'step_finish':
        events.push({ type: 'step', on: false });
        opencodeStep(part, model, undefined, events);
        return events;
      case 'error': {
        const error = fieldsOf(event.error);
        const reason = textOf(fieldsOf(error.data).message) ?? textOf(error.name) ?? 'an error without words';
        events.push({ type: 'result', ok: false, final: true, reason });
        return events;
      }
      default:
        return events.length === 0 ? nothing : events;
    }
  }

  return jsonReader(take);
}
