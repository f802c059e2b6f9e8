/** Tracks the running subagents of Claude Code, by the call that started each and by the id used in other events. */

import { textOf } from '../../core/foreign-text.ts';
import { workersMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { asText, type JsonObject, noEvents } from '../reading/reader.ts';
import type { SubagentRequest } from './messages.ts';

export interface ClaudeSubagents {
  /** The agent of an event; an unknown subagent is reported as started. */
  identifyAgent(event: JsonObject, events: AgentEvent[]): string | undefined;
  /** Records a call of the Agent tool. */
  recordCall(call: string, request: SubagentRequest): void;
  /**
   * Reads the result of such a call: the answer of the subagent, or an immediate result if it runs in the background.
   */
  readCallResult(
    call: string,
    ok: boolean,
    reason: string | undefined,
    details: JsonObject,
    events: AgentEvent[],
  ): void;
  readStarted(event: JsonObject): readonly AgentEvent[];
  readNotification(event: JsonObject): readonly AgentEvent[];
  areRunning(): boolean;
  /** Whether a call started a subagent. */
  isSubagentCall(call: string): boolean;
}

export function trackClaudeSubagents(): ClaudeSubagents {
  const requests = new Map<string, SubagentRequest>();
  /** The ids of subagents by call. */
  const idByCall = new Map<string, string>();
  const running = new Set<string>();
  const finished = new Set<string>();

  function start(id: string, call: string | undefined, fallbackName: string | undefined, events: AgentEvent[]): void {
    if (call !== undefined && idByCall.size < workersMax) idByCall.set(call, id);
    if (running.has(id) || finished.has(id) || running.size >= workersMax) return;
    running.add(id);
    const { name = fallbackName, prompt, parent } = (call === undefined ? undefined : requests.get(call)) ?? {};
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
    if (!running.delete(id)) return;
    if (finished.size < workersMax) finished.add(id);
    events.push({ type: 'subagent_ended', id, ok, ...(reason && { reason }) });
  }

  return {
    identifyAgent(event, events) {
      const call = asText(event.parent_tool_use_id);
      const agentId = asText(event.agent_id);
      const id = (call === undefined ? undefined : idByCall.get(call)) ?? agentId ?? call;
      // A finished subagent that writes again has received another message and runs again.
      if (id !== undefined && event.type === 'assistant') finished.delete(id);
      if (id !== undefined) start(id, call, asText(event.subagent_type), events);
      return id;
    },
    recordCall(call, request) {
      if (requests.size < workersMax) requests.set(call, request);
    },
    readCallResult(call, ok, reason, details, events) {
      if (!requests.has(call)) return;
      const id = asText(details.agentId) ?? asText(details.agent_id);
      const isBackground = details.isAsync === true || /_launched$/.test(textOf(details.status));
      if (isBackground) start(idByCall.get(call) ?? id ?? call, call, undefined, events);
      else {
        if (ok && !idByCall.has(call)) start(id ?? call, call, undefined, events);
        // A refused call started no subagent, so no failure is reported.
        finish(idByCall.get(call) ?? call, ok, reason, events);
      }
    },
    readStarted(event) {
      const call = asText(event.tool_use_id);
      const id = asText(event.task_id);
      const kind = asText(event.task_type);
      const isAgent = kind === undefined ? requests.has(call ?? '') : kind.endsWith('_agent');
      if (id === undefined || !isAgent) return noEvents; // Background shells are also reported as tasks.
      const events: AgentEvent[] = [];
      start((call && idByCall.get(call)) ?? id, call, asText(event.subagent_type), events);
      return events;
    },
    readNotification(event) {
      const call = asText(event.tool_use_id);
      const id = (call && idByCall.get(call)) ?? asText(event.task_id);
      const events: AgentEvent[] = [];
      // A subagent that a person stopped has not failed.
      if (id !== undefined) finish(id, event.status !== 'failed', asText(event.summary), events);
      return events;
    },
    areRunning: () => running.size > 0,
    isSubagentCall: (call) => requests.has(call),
  };
}
