/**
 * Reads the session files of Claude Code, which contain the events of its stream with the final token counts of each
 * message.
 */

import type { AgentEvent, UserEvent } from '../reading/agent-event.ts';
import { markEventsOf } from '../reading/event-source.ts';
import { asObject, asText, type JsonObject, jsonReader, noEvents, type Reader } from '../reading/reader.ts';
import { createRepeatCheck, readClaudeMessage, readClaudeResults } from './messages.ts';
import { trackClaudeSubagents } from './subagents.ts';

/** Options of the readers of session files. */
export interface SessionReaderOptions {
  /**
   * Whether the stream is read as well; then events that the stream contains are skipped.
   * @default false
   */
  readonly besideStream?: boolean;
}

/** Creates a reader of a session file of Claude Code. */
export function claudeSessionReader({ besideStream = false }: SessionReaderOptions = {}): Reader {
  const subagents = trackClaudeSubagents();
  const isRepeated = createRepeatCheck();
  const ignore = () => {};

  function readLine(line: JsonObject): readonly AgentEvent[] {
    if (line.type !== 'assistant' && line.type !== 'user') return noEvents;
    const agent = line.isSidechain === true ? asText(line.agentId) : undefined;
    const message = asObject(line.message);
    const events: AgentEvent[] = [];
    if (line.type === 'assistant')
      readClaudeMessage(message, agent, events, besideStream ? ignore : subagents.recordCall, isRepeated);
    else {
      readClaudeResults(message, agent, authorOf(line), events, (id, ok, reason) => {
        if (!besideStream) subagents.readCallResult(id, ok, reason, asObject(line.toolUseResult), events);
      });
      if (!besideStream) events.push(...readNotification(message));
    }
    return besideStream ? events.filter(({ type }) => type !== 'assistant' && type !== 'user') : events;
  }

  /** Reads the text that tells the model about the end of a background subagent. */
  function readNotification({ content }: JsonObject): readonly AgentEvent[] {
    const text = typeof content === 'string' ? content : '';
    if (!text.startsWith('<task-notification>')) return noEvents;
    const part = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
    return subagents.readNotification({
      task_id: part('task-id'),
      tool_use_id: part('tool-use-id'),
      status: part('status'),
      summary: part('summary'),
    });
  }

  return markEventsOf(jsonReader(readLine), 'files');
}

function authorOf(line: JsonObject): UserEvent['by'] {
  return line.isMeta === true || line.isSidechain === true ? 'harness' : 'person';
}
