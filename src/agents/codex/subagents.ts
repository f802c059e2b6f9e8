/** Reads subagents of Codex: the stream reports their start and status, but not their actions. */

import { textOf } from '../../core/foreign-text.ts';
import { workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asList, asObject, asText, type JsonObject } from '../reading/reader.ts';

export interface CodexThreads {
  readCollabCall(item: JsonObject, isOver: boolean, events: AgentEvent[]): void;
}

const finalStates = new Set(['completed', 'errored', 'shutdown', 'not_found']);

export function trackCodexThreads(): CodexThreads {
  const running = new Set<string>();
  return {
    readCollabCall(item, isOver, events) {
      const call = asText(item.id);
      const prompt = asText(item.prompt);
      if (item.tool === 'spawn_agent' && isOver && item.status === 'completed') {
        for (const thread of asList(item.receiver_thread_ids)) {
          const id = asText(thread);
          if (id === undefined || running.has(id) || running.size >= workersMax) continue;
          running.add(id);
          events.push({ type: 'subagent_started', id, hidden: true, ...(prompt && { prompt }), ...(call && { call }) });
        }
      }
      for (const [id, state] of Object.entries(asObject(item.agents_states))) {
        const { status, message } = asObject(state);
        if (!finalStates.has(textOf(status)) || !running.delete(id)) continue;
        const reason = asText(message);
        events.push({ type: 'subagent_ended', id, ok: status !== 'errored', ...(reason && { reason }) });
      }
    },
  };
}
