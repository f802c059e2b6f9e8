/** Reads message parts from opencode's database or export, including those of subagents. */

import type { SessionReaderOptions } from '../claude-code/session-file.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asList, asObject, asText, type JsonObject } from '../reading/reader.ts';
import { readOpencodeStep, readOpencodeTool } from './message-parts.ts';

/** A stored part with data of its message. */
export interface StoredPart {
  readonly session: string;
  readonly part: JsonObject;
  readonly role: string | undefined;
  readonly model: string | undefined;
}

/** Reads the events of a part. A part of another session belongs to a subagent, named by the id of that session. */
export function readOpencodePart(
  { session, part, role, model }: StoredPart,
  main: string,
  { besideStream = false }: SessionReaderOptions = {},
): readonly AgentEvent[] {
  const agent = session === main ? undefined : session;
  const owner = agent === undefined ? {} : { agent };
  const events: AgentEvent[] = [];
  const text = asText(part.text);
  switch (part.type) {
    case 'tool':
      readOpencodeTool(part, agent, events);
      break;
    case 'step-finish':
      readOpencodeStep(part, model, agent, events);
      break;
    case 'text':
      if (text === undefined || (besideStream && agent === undefined)) break;
      if (role === 'user')
        events.push({ type: 'user', text, by: agent === undefined ? 'person' : 'harness', ...owner });
      else if (asObject(part.time).end !== undefined) events.push({ type: 'assistant', text, ...owner });
      break;
  }
  return events;
}

/** Reads the output of `opencode export` as events. */
export function readOpencodeExport(json: string, options: SessionReaderOptions = {}): readonly AgentEvent[] {
  let exported: JsonObject;
  try {
    exported = asObject(JSON.parse(json));
  } catch {
    return [];
  }
  const main = asText(asObject(exported.info).id) ?? '';
  return asList(exported.messages).flatMap((message) => {
    const { info, parts } = asObject(message);
    const { role, modelID } = asObject(info);
    return asList(parts).flatMap((part) => {
      const stored = { session: main, part: asObject(part), role: asText(role), model: asText(modelID) };
      return readOpencodePart(stored, main, options);
    });
  });
}
