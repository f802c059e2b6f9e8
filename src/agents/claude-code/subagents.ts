/** Which subagents of Claude Code are out: by the call that sent them, and by the id they have everywhere else. */

import { workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, nothing, textOf } from '../reading/reader.ts';
import type { SentAgent } from './messages.ts';

export interface ClaudeSubagents {
  /** Whose line it is; a subagent that nobody told of begins here. */
  agentOf(event: Fields, events: AgentEvent[]): string | undefined;
  /** A call of the Agent tool was made. */
  send(call: string, sent: SentAgent): void;
  /** It returned: with the answer of the subagent, or at once while that goes on in the background. */
  callReturned(call: string, ok: boolean, reason: string | undefined, how: Fields, events: AgentEvent[]): void;
  started(event: Fields): readonly AgentEvent[];
  notified(event: Fields): readonly AgentEvent[];
  areOut(): boolean;
  /** Whether a call has sent one. */
  wasSent(call: string): boolean;
}

export function claudeSubagents(): ClaudeSubagents {
  const sent = new Map<string, SentAgent>();
  /** The id of a subagent by its call. */
  const byCall = new Map<string, string>();
  const out = new Set<string>();
  const over = new Set<string>();

  function begin(id: string, call: string | undefined, named: string | undefined, events: AgentEvent[]): void {
    if (call !== undefined && byCall.size < workersMax) byCall.set(call, id);
    if (out.has(id) || over.has(id) || out.size >= workersMax) return;
    out.add(id);
    const { name = named, prompt, parent } = (call === undefined ? undefined : sent.get(call)) ?? {};
    events.push({
      type: 'subagent_started',
      id,
      ...(name && { name }),
      ...(prompt && { prompt }),
      ...(parent && { parent }),
      ...(call && { call }),
    });
  }

  function finish(id: string, ok: boolean, reason: string | undefined, events: AgentEvent[]): void {
    if (!out.delete(id)) return;
    if (over.size < workersMax) over.add(id);
    events.push({ type: 'subagent_ended', id, ok, ...(reason && { reason }) });
  }

  return {
    agentOf(event, events) {
      const call = textOf(event.parent_tool_use_id);
      const told = textOf(event.agent_id);
      const id = (call === undefined ? undefined : byCall.get(call)) ?? told ?? call;
      // One that was done may be sent another message, and goes on.
      if (id !== undefined && event.type === 'assistant') over.delete(id);
      if (id !== undefined) begin(id, call, textOf(event.subagent_type), events);
      return id;
    },
    send(call, what) {
      if (sent.size < workersMax) sent.set(call, what);
    },
    callReturned(call, ok, reason, how, events) {
      if (!sent.has(call)) return;
      const id = textOf(how.agentId) ?? textOf(how.agent_id);
      const isAway = how.isAsync === true || /_launched$/.test(String(how.status));
      if (isAway) begin(byCall.get(call) ?? id ?? call, call, undefined, events);
      else {
        if (ok && !byCall.has(call)) begin(id ?? call, call, undefined, events);
        // A call that was refused sent nobody, and nobody failed.
        finish(byCall.get(call) ?? call, ok, reason, events);
      }
    },
    started(event) {
      const call = textOf(event.tool_use_id);
      const id = textOf(event.task_id);
      const kind = textOf(event.task_type);
      const isAgent = kind === undefined ? sent.has(call ?? '') : kind.endsWith('_agent');
      if (id === undefined || !isAgent) return nothing; // Shells in the background are tasks, too.
      const events: AgentEvent[] = [];
      begin((call && byCall.get(call)) ?? id, call, textOf(event.subagent_type), events);
      return events;
    },
    notified(event) {
      const call = textOf(event.tool_use_id);
      const id = (call && byCall.get(call)) ?? textOf(event.task_id);
      const events: AgentEvent[] = [];
      // One that was stopped by hand has not failed.
      if (id !== undefined) finish(id, event.status !== 'failed', textOf(event.summary), events);
      return events;
    },
    areOut: () => out.size > 0,
    wasSent: (call) => sent.has(call),
  };
}
