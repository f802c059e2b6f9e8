/** Reads programs that nobody knows: JSON lines of type `assistant`, `tool_use`, `tool_result`, `usage`; else text. */

import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, jsonReader, nothing, type Reader, textOf } from '../reading/reader.ts';
import { anthropicTokens } from '../reading/tokens.ts';
import { plainTextReader } from './plain-text.ts';

export function simpleEventReader(): Reader {
  const text = plainTextReader();
  let unnamed = 0;
  const json = jsonReader((event) => take(event, () => `unnamed-${++unnamed}`));
  return {
    read: (line) => (/^\s*\{/.test(line) ? json.read(line) : text.read(line)),
    end: text.end,
  };
}

function take(event: Fields, unnamed: () => string): readonly AgentEvent[] {
  const agent = textOf(event.taskId) ?? textOf(event.task_id) ?? textOf(event.task);
  const of = agent === undefined ? {} : { agent };
  const id = textOf(event.id);
  switch (event.type) {
    case 'assistant': {
      const { toolUse } = event;
      const told = typeof toolUse === 'boolean' ? { toolUse } : {};
      return [{ type: 'assistant', text: textOf(event.text) ?? '', ...told, ...of }];
    }
    case 'tool_use':
      return [{ type: 'tool_use', id: id ?? unnamed(), name: textOf(event.name) ?? 'tool', input: event.input, ...of }];
    case 'tool_result': {
      if (id === undefined) return nothing;
      return [{ type: 'tool_result', id, ok: event.ok !== false, output: event.output, ...of }];
    }
    case 'usage': {
      const model = textOf(event.model);
      const tokens = anthropicTokens(fieldsOf(event.usage));
      return [{ type: 'usage', id: id ?? unnamed(), ...(model && { model }), ...tokens, ...of }];
    }
    default:
      return nothing;
  }
}
