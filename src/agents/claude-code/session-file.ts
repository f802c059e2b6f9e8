/** Reads the session files of Claude Code: what its stream says, with the tokens that every message had in the end. */

import type { AgentEvent, UserEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, jsonReader, nothing, type Reader, textOf } from '../reading/reader.ts';
import { claudeMessage, claudeResults, lastUsage } from './messages.ts';
import { claudeSubagents } from './subagents.ts';

export interface SessionReaderOptions {
  /** A stream is read, too: what that shows is left to it. */
  readonly beside?: boolean;
}

export function claudeSessionReader({ beside = false }: SessionReaderOptions = {}): Reader {
  const subagents = claudeSubagents();
  const isTold = lastUsage();
  const ignore = () => {};

  function take(line: Fields): readonly AgentEvent[] {
    if (line.type !== 'assistant' && line.type !== 'user') return nothing;
    const agent = line.isSidechain === true ? textOf(line.agentId) : undefined;
    const message = fieldsOf(line.message);
    const events: AgentEvent[] = [];
    if (line.type === 'assistant') claudeMessage(message, agent, events, beside ? ignore : subagents.send, isTold);
    else {
      claudeResults(message, agent, whoSays(line), events, (id, ok, reason) => {
        if (!beside) subagents.callReturned(id, ok, reason, fieldsOf(line.toolUseResult), events);
      });
      if (!beside) events.push(...notified(message));
    }
    return beside ? events.filter(({ type }) => type !== 'assistant' && type !== 'user') : events;
  }

  /** The end of a subagent in the background is told to the model in words. */
  function notified({ content }: Fields): readonly AgentEvent[] {
    const text = typeof content === 'string' ? content : '';
    if (!text.startsWith('<task-notification>')) return nothing;
    const part = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
    return subagents.notified({
      task_id: part('task-id'),
      tool_use_id: part('tool-use-id'),
      status: part('status'),
      summary: part('summary'),
    });
  }

  return jsonReader(take);
}

function whoSays(line: Fields): UserEvent['by'] {
  return line.isMeta === true || line.isSidechain === true ? 'harness' : 'person';
}
