/**
 * Reads the `[heartbeat]` protocol: lines with `starting`, `done` or `error` and the name of a task, among other
 * output. An event that names a task belongs to it; other events belong to the task that started last.
 */

import { textOf } from '../../core/foreign-text.ts';
import { heartbeatsOpenMax, heartbeatTasksMax, workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asObject, asText, type JsonObject, type Reader } from '../reading/reader.ts';

/** Characters of a heartbeat that are read: the pattern of pairs takes quadratic time. */
const heartbeatLengthMax = 4_096;
const heartbeatPattern = /^\s*\[heartbeat\]\s*(.*)$/s;
const pairPattern = /(\w+)\s*[=:]\s*("[^"]*"|\S+)/g;

/**
 * When heartbeats open tasks: `always`; `beside-events`, once the program has printed a structured event; or `never`,
 * where a model writes the lines.
 */
export type HeartbeatUse = 'always' | 'beside-events' | 'never';

/** Creates a reader that counts every line as a sign of life. */
export function heartbeatReader(inner: Reader, use: HeartbeatUse = 'always'): Reader {
  /** The running tasks, the latest on top. */
  const stack: string[] = [];
  let isUsed = use === 'always';
  let opened = 0;
  /** Starts before the first structured event. */
  let held: AgentEvent[] = [];

  function readHeartbeat(fields: JsonObject): readonly AgentEvent[] {
    const phase = asText(fields.phase) ?? asText(fields.status);
    const id = asText(fields.taskId) ?? asText(fields.task_id) ?? asText(fields.task) ?? asText(fields.id);
    if (id === undefined) return makeHeartbeat(stack.at(-1));
    const at = stack.indexOf(id);
    if (phase === 'starting') {
      // A repeated start is a sign of life; so is one too many.
      if (at !== -1) return makeHeartbeat(id);
      if (stack.length >= heartbeatsOpenMax || opened >= heartbeatTasksMax) return makeHeartbeat(stack.at(-1));
      opened++;
      stack.push(id);
      const name = asText(fields.agent) ?? asText(fields.name);
      const parent = asText(fields.parent);
      return [{ type: 'subagent_started', id, isPart: true, ...(name && { name }), ...(parent && { parent }) }];
    }
    if (at === -1) return makeHeartbeat(undefined);
    if (phase !== 'done' && phase !== 'error') return makeHeartbeat(id);
    stack.splice(at, 1);
    const reason = asText(fields.reason) ?? asText(fields.message);
    return [{ type: 'subagent_ended', id, ok: phase === 'done', ...(reason && { reason }) }];
  }

  /** Opens the tasks that started before the first structured event. */
  function useHeartbeats(): readonly AgentEvent[] {
    isUsed = true;
    const starts = held;
    held = [];
    return starts;
  }

  return {
    read(line) {
      const fields = use !== 'never' && line.includes('heartbeat') ? parseHeartbeat(line) : undefined;
      if (fields === undefined) {
        const events = inner.read(line);
        const starts = isUsed || !events.some(isStructured) ? [] : useHeartbeats();
        return [...starts, ...assignToTask(events, isUsed ? stack.at(-1) : undefined)];
      }
      const events = readHeartbeat(fields);
      if (isUsed) return events;
      held = [...held, ...events.filter(({ type }) => type !== 'heartbeat')].slice(-workersMax);
      return inner.read(line); // Without structured events the line is a text like others.
    },
    end: () => assignToTask(inner.end(), isUsed ? stack.at(-1) : undefined),
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

/** Whether an event shows that the program prints structured events. */
function isStructured({ type }: AgentEvent): boolean {
  return type === 'tool_use' || type === 'tool_result' || type === 'usage';
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
