/**
 * Reads the `[heartbeat]` protocol: lines with `starting`, `done` or `error` and the name of a task, among other
 * output. An event that names a task belongs to it; other events belong to the task that started last.
 */

import { textOf } from '../../core/foreign-text.ts';
import { workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asObject, asText, type JsonObject, type Reader } from '../reading/reader.ts';

/** Characters of a heartbeat that are read: the pattern of pairs takes quadratic time. */
const heartbeatLengthMax = 4_096;
const heartbeatPattern = /^\s*\[heartbeat\]\s*(.*)$/s;
const pairPattern = /(\w+)\s*[=:]\s*("[^"]*"|\S+)/g;

/** Creates a reader that counts every line as a sign of life. */
export function heartbeatReader(inner: Reader): Reader {
  /** The running tasks, the latest on top. */
  const stack: string[] = [];

  function readHeartbeat(fields: JsonObject): readonly AgentEvent[] {
    const phase = asText(fields.phase) ?? asText(fields.status);
    const id = asText(fields.taskId) ?? asText(fields.task_id) ?? asText(fields.task) ?? asText(fields.id);
    if (id === undefined) return makeHeartbeat(stack.at(-1));
    const at = stack.indexOf(id);
    if (phase === 'starting') {
      if (at !== -1 || stack.length >= workersMax) return makeHeartbeat(id); // A repeated start is a sign of life.
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

/** Parses a heartbeat line: JSON, key-value pairs, or two words. Returns undefined for any other line. */
function parseHeartbeat(line: string): JsonObject | undefined {
  const text =
    heartbeatPattern.exec(line)?.[1]?.trim().slice(0, heartbeatLengthMax) ?? (/^\s*\{/.test(line) ? line : undefined);
  if (text === undefined) return undefined;
  if (text.startsWith('{')) {
    try {
      const fields = asObject(JSON.parse(text));
      return text === line && !/^\[?heartbeat\]?$/.test(textOf(fields.type)) ? undefined : fields;
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

/** Assigns events without a task to the task on top. */
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
