/**
 * Reads the `[heartbeat]` protocol: lines that say `starting`, `done` or `error` of a task, around whatever else the
 * program prints. What names a task is that task's; the rest belongs to the one that started last.
 */

import { workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asObject, asText, type JsonObject, type Reader } from '../reading/reader.ts';

const heartbeatPattern = /^\s*\[heartbeat\]\s*(.*)$/s;
const pairPattern = /(\w+)\s*[=:]\s*("[^"]*"|\S+)/g;

/** Creates a reader that counts every line as a sign of life. */
export function heartbeatReader(inner: Reader): Reader {
  /** The tasks that run, the last one on top. */
  const stack: string[] = [];

  function readHeartbeat(fields: JsonObject): readonly AgentEvent[] {
    const phase = asText(fields.phase) ?? asText(fields.status);
    const id = asText(fields.taskId) ?? asText(fields.task_id) ?? asText(fields.task) ?? asText(fields.id);
    if (id === undefined) return makeHeartbeat(stack.at(-1));
    const at = stack.indexOf(id);
    if (phase === 'starting') {
      if (at !== -1 || stack.length >= workersMax) return makeHeartbeat(id); // Said again, it is only alive.
      stack.push(id);
      const name = asText(fields.agent) ?? asText(fields.name);
      const parent = asText(fields.parent);
      return [{ type: 'subagent_started', id, ...(name && { name }), ...(parent && { parent }) }];
    }
    if (at === -1) return makeHeartbeat(undefined);
    if (phase !== 'done' && phase !== 'error') return makeHeartbeat(id);
    stack.splice(at, 1);
    const reason = asText(fields.reason) ?? asText(fields.message);
    return [{ type: 'subagent_ended', id, ok: phase === 'done', ...(reason && { reason }) }];
  }

  return {
    read(line) {
      const fields = line.includes('heartbeat') ? parseHeartbeat(line) : undefined;
      return fields === undefined ? assignToTask(inner.read(line), stack.at(-1)) : readHeartbeat(fields);
    },
    end: () => assignToTask(inner.end(), stack.at(-1)),
  };
}

/** What a heartbeat says: as JSON, in pairs, or in two words; undefined for a line that is none. */
function parseHeartbeat(line: string): JsonObject | undefined {
  const text = heartbeatPattern.exec(line)?.[1]?.trim() ?? (/^\s*\{/.test(line) ? line : undefined);
  if (text === undefined) return undefined;
  if (text.startsWith('{')) {
    try {
      const fields = asObject(JSON.parse(text));
      return text === line && !/^\[?heartbeat\]?$/.test(String(fields.type)) ? undefined : fields;
    } catch {
      return text === line ? undefined : {};
    }
  }
  const pairs = [...text.matchAll(pairPattern)].map(
    ([, key = '', value = '']) => [key, value.replaceAll('"', '')] as const,
  );
  if (pairs.length > 0) return Object.fromEntries(pairs);
  const [phase, ...task] = text.split(/\s+/);
  return { phase, task: task.join(' ') };
}

function makeHeartbeat(agent: string | undefined): readonly AgentEvent[] {
  return [{ type: 'heartbeat', ...(agent !== undefined && { agent }) }];
}

/** What names nobody belongs to the task on top. */
function assignToTask(events: readonly AgentEvent[], top: string | undefined): readonly AgentEvent[] {
  if (top === undefined) return events;
  return events.map((event) => {
    switch (event.type) {
      case 'assistant':
      case 'tool_use':
      case 'tool_result':
      case 'usage':
      case 'user':
      case 'heartbeat':
      case 'output':
      case 'step':
        return event.agent === undefined ? { ...event, agent: top } : event;
      default:
        return event;
    }
  });
}
