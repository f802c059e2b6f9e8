/** Reads unknown programs: JSON lines of type `assistant`, `tool_use`, `tool_result`, `usage`; other lines are text. */

import type { AgentEvent } from '../reading/agent-event.ts';
import { asObject, asText, type JsonObject, jsonReader, noEvents, type Reader } from '../reading/reader.ts';
import { anthropicTokens } from '../reading/tokens.ts';
import { plainTextReader } from './plain-text.ts';

export function simpleEventReader(): Reader {
  const text = plainTextReader();
  let unnamed = 0;
  const json = jsonReader((event) => readEvent(event, () => `unnamed-${++unnamed}`));
  return {
    read: (line) => (/^\s*\{/.test(line) ? json.read(line) : text.read(line)),
    end: text.end,
  };
}

function readEvent(event: JsonObject, unnamed: () => string): readonly AgentEvent[] {
  const agent = asText(event.taskId) ?? asText(event.task_id) ?? asText(event.task);
  const owner = agent === undefined ? {} : { agent };
  const id = asText(event.id);
  switch (event.type) {
    case 'assistant': {
      const { toolUse } = event;
      const optional = typeof toolUse === 'boolean' ? { toolUse } : {};
      return [{ type: 'assistant', text: asText(event.text) ?? '', ...optional, ...owner }];
    }
    case 'tool_use':
      return [
        { type: 'tool_use', id: id ?? unnamed(), name: asText(event.name) ?? 'tool', input: event.input, ...owner },
      ];
    case 'tool_result': {
      if (id === undefined) return noEvents;
      return [{ type: 'tool_result', id, ok: event.ok !== false, output: event.output, ...owner }];
    }
    case 'usage': {
      const model = asText(event.model);
      const tokens = anthropicTokens({ ...event, ...asObject(event.usage) });
      return [{ type: 'usage', id: id ?? unnamed(), ...(model && { model }), ...tokens, ...owner }];
    }
    default:
      return noEvents;
  }
}
