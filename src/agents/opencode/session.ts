/** Reads what opencode keeps in its database, or prints as an export: parts of messages, also those of subagents. */

import type { SessionReaderOptions } from '../claude-code/session-file.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../reading/reader.ts';
import { opencodeStep, opencodeTool } from './message-parts.ts';

/** A part as it is stored, and what its message says of it. */
export interface StoredPart {
  readonly session: string;
  readonly part: Fields;
  readonly role: string | undefined;
  readonly model: string | undefined;
}

/** What a part says. Parts of a session that is not the main one are a subagent's, by the id of its session. */
export function opencodePartEvents(
  { session, part, role, model }: StoredPart,
  main: string,
  { beside = false }: SessionReaderOptions = {},
): readonly AgentEvent[] {
  const agent = session === main ? undefined : session;
  const of = agent === undefined ? {} : { agent };
  const events: AgentEvent[] = [];
  const text = textOf(part.text);
  switch (part.type) {
    case 'tool':
      opencodeTool(part, agent, events);
      break;
    case 'step-finish':
      opencodeStep(part, model, agent, events);
      break;
    case 'text':
      if (text === undefined || (beside && agent === undefined)) break;
      if (role === 'user') events.push({ type: 'user', text, by: agent === undefined ? 'person' : 'harness', ...of });
      else if (fieldsOf(part.time).end !== undefined) events.push({ type: 'assistant', text, ...of });
      break;
  }
  return events;
}

/** What `opencode export` prints, as events. */
export function readOpencodeExport(json: string, options: SessionReaderOptions = {}): readonly AgentEvent[] {
  let whole: Fields;
  try {
    whole = fieldsOf(JSON.parse(json));
  } catch {
    return [];
  }
  const main = textOf(fieldsOf(whole.info).id) ?? '';
  return listOf(whole.messages).flatMap((message) => {
    const { info, parts } = fieldsOf(message);
    const { role, modelID } = fieldsOf(info);
    return listOf(parts).flatMap((part) => {
      const stored = { session: main, part: fieldsOf(part), role: textOf(role), model: textOf(modelID) };
      return opencodePartEvents(stored, main, options);
    });
  });
}
