/** Codex's threads of its own kind: the stream tells that they were sent and how they stand, not what they do. */

import { workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../reading/reader.ts';

export interface CodexCollab {
  take(item: Fields, isOver: boolean, events: AgentEvent[]): void;
}

const overStates = new Set(['completed', 'errored', 'shutdown', 'not_found']);

export function codexCollab(): CodexCollab {
  const out = new Set<string>();
  return {
    take(item, isOver, events) {
      const call = textOf(item.id);
      const prompt = textOf(item.prompt);
      if (item.tool === 'spawn_agent' && isOver && item.status === 'completed') {
        for (const thread of listOf(item.receiver_thread_ids)) {
          const id = textOf(thread);
          if (id === undefined || out.has(id) || out.size >= workersMax) continue;
          out.add(id);
          events.push({ type: 'subagent_started', id, hidden: true, ...(prompt && { prompt }), ...(call && { call }) });
        }
      }
      for (const [id, state] of Object.entries(fieldsOf(item.agents_states))) {
        const { status, message } = fieldsOf(state);
        if (!overStates.has(String(status)) || !out.delete(id)) continue;
        const reason = textOf(message);
        events.push({ type: 'subagent_ended', id, ok: status !== 'errored', ...(reason && { reason }) });
      }
    },
  };
}
