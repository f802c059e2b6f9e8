/**
 * Reads the `[heartbeat]` protocol: lines that say `starting`, `done` or `error` of a task, around whatever else the
 * program prints. What names a task is that task's; the rest belongs to the one that started last.
 */

import { workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, type Reader, textOf } from '../reading/reader.ts';

const mark = /^\s*\[heartbeat\]\s*(.*)$/s;
const pair = /(\w+)\s*[=:]\s*("[^"]*"|\S+)/g;

export function heartbeatReader(inner: Reader): Reader {
  /** The tasks that run, the last one on top. */
  const stack: string[] = [];

  function beat(said: Fields): readonly AgentEvent[] {
    const phase = textOf(said.phase) ?? textOf(said.status);
    const id = textOf(said.taskId) ?? textOf(said.task_id) ?? textOf(said.task) ?? textOf(said.id);
    if (id === undefined) return sign(stack.at(-1));
    const at = stack.indexOf(id);
    if (phase === 'starting') {
      if (at !== -1 || stack.length >= workersMax) return sign(id); // Said again, it is only alive.
      stack.push(id);
      const name = textOf(said.agent) ?? textOf(said.name);
      const parent = textOf(said.parent);
      return [{ type: 'subagent_started', id, ...(name && { name }), ...(parent && { parent }) }];
    }
    if (at === -1) return sign(undefined);
    if (phase !== 'done' && phase !== 'error') return sign(id);
    stack.splice(at, 1);
    const reason = textOf(said.reason) ?? textOf(said.message);
    return [{ type: 'subagent_ended', id, ok: phase === 'done', ...(reason && { reason }) }];
  }

  return {
    read(line) {
      const said = line.includes('heartbeat') ? saidBy(line) : undefined;
      return said === undefined ? belong(inner.read(line), stack.at(-1)) : beat(said);
    },
    end: () => belong(inner.end(), stack.at(-1)),
  };
}

/** What a heartbeat says: as JSON, in pairs, or in two words; undefined for a line that is none. */
function saidBy(line: string): Fields | undefined {
  const text = mark.exec(line)?.[1]?.trim() ?? (/^\s*\{/.test(line) ? line : undefined);
  if (text === undefined) return undefined;
  if (text.startsWith('{')) {
    try {
      const said = fieldsOf(JSON.parse(text));
      return text === line && !/^\[?heartbeat\]?$/.test(String(said.type)) ? undefined : said;
    } catch {
      return text === line ? undefined : {};
    }
  }
  const pairs = [...text.matchAll(pair)].map(([, key = '', value = '']) => [key, value.replaceAll('"', '')] as const);
  if (pairs.length > 0) return Object.fromEntries(pairs);
  const [phase, ...task] = text.split(/\s+/);
  return { phase, task: task.join(' ') };
}

function sign(agent: string | undefined): readonly AgentEvent[] {
  return [{ type: 'heartbeat', ...(agent !== undefined && { agent }) }];
}

/** What names nobody belongs to the task on top. */
function belong(events: readonly AgentEvent[], top: string | undefined): readonly AgentEvent[] {
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
