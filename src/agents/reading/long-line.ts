/** Reads what the beginning of a line shows that is too long to be parsed: a call or a result, of any known program. */

import type { AgentEvent } from './agent-event.ts';
import { heartbeatOnly } from './reader.ts';

const callPattern =
  /"type"\s*:\s*"(?:tool_use|tool_call|function_call|command_execution|mcp_tool_call|item\.started)"/g;
const resultPattern = /"type"\s*:\s*"tool_result"/;
const idPattern = /"(?:id|tool_id|call_id|callID|tool_use_id)"\s*:\s*"([^"\\]{1,200})"/;
const namePattern = /"(?:name|tool_name|tool)"\s*:\s*"([^"\\]{1,200})"/;

let unnamed = 0;

/** The events of a line by its first characters: each call counts, with its size in place of its arguments. */
export function readLongLine(head: string, length: number): readonly AgentEvent[] {
  const starts = [...head.matchAll(callPattern)].map(({ index }) => index);
  if (starts.length > 0) {
    return starts.map((start, n) => {
      const part = head.slice(start, starts[n + 1]);
      const id = idPattern.exec(part)?.[1] ?? idPattern.exec(head)?.[1] ?? `long-line-${++unnamed}`;
      const name = namePattern.exec(part)?.[1] ?? namePattern.exec(head)?.[1] ?? 'tool';
      return { type: 'tool_use', id, name, input: { length } };
    });
  }
  const result = resultPattern.exec(head);
  const id = result === null ? undefined : idPattern.exec(head.slice(result.index))?.[1];
  if (id === undefined) return heartbeatOnly;
  return [{ type: 'tool_result', id, output: `${head} (${length} characters)` }];
}
