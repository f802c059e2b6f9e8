/** Reads the chat files of Gemini CLI: tokens per message, and exit codes, which its stream omits. */

import { createRecentMap } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { SessionReaderOptions } from '../claude-code/session-file.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { markEventsOf } from '../reading/event-source.ts';
import { asList, asObject, asText, type JsonObject, jsonReader, noEvents, type Reader } from '../reading/reader.ts';
import { asSessionId } from '../reading/session-id.ts';
import { hasNoTokens } from '../reading/tokens.ts';
import { geminiAgentTool, geminiShellTool } from './stream.ts';
import { geminiTokens } from './tokens.ts';

/** Options of `geminiSessionReader`. */
export interface GeminiSessionOptions extends SessionReaderOptions {
  /**
   * The subagent of the chat file, if any.
   * @default none: the chat is the main agent's
   */
  readonly agent?: string;
}

/** Creates a reader of a chat file of Gemini CLI. */
export function geminiSessionReader({ besideStream = false, agent }: GeminiSessionOptions = {}): Reader {
  const owner = agent === undefined ? {} : { agent };
  const isOnStream = besideStream && agent === undefined;
  /** Ids of messages that were reported: a message is written once alone, and again with its finished calls. */
  const emittedMessages = createRecentMap<true>(countedIdsMax);

  function readLine(line: JsonObject): readonly AgentEvent[] {
    const id = asText(line.id);
    if (id === undefined) {
      const session = agent === undefined && line.kind === 'main' ? asSessionId(line.sessionId) : undefined;
      return session === undefined ? noEvents : [{ type: 'session', id: session }];
    }
    if (line.type === 'user') return isOnStream ? noEvents : readUser(asList(line.content));
    return line.type === 'gemini' ? readMessage(id, line) : noEvents;
  }

  function readUser(content: readonly unknown[]): readonly AgentEvent[] {
    const text = content.map((part) => asText(asObject(part).text) ?? '').join('\n');
    if (text.trim() === '') return noEvents; // Results of calls, which the message also contains.
    const isTyped = agent === undefined && !text.startsWith('<');
    return [{ type: 'user', text, by: isTyped ? 'person' : 'harness', ...owner }];
  }

  function readMessage(id: string, line: JsonObject): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    const text = asText(line.content);
    if (emittedMessages.get(id) === undefined) {
      emittedMessages.set(id, true);
      if (!isOnStream && text !== undefined) events.push({ type: 'assistant', text, message: id, ...owner });
    }
    const model = asText(line.model);
    const tokens = geminiTokens(asObject(line.tokens));
    if (!hasNoTokens(tokens)) events.push({ type: 'usage', id, ...(model && { model }), ...tokens, ...owner });
    for (const call of asList(line.toolCalls)) readCall(asObject(call), id, events);
    return events;
  }

  function readCall(call: JsonObject, message: string, events: AgentEvent[]): void {
    const id = asText(call.id);
    if (id === undefined) return;
    const name = asText(call.name) ?? 'tool';
    events.push({ type: 'tool_use', id, name, input: call.args, message, ...owner });
    const response = asObject(asObject(asObject(asList(call.result)[0]).functionResponse).response);
    const error = asText(response.error);
    const output = error ?? response.output;
    const exit = name === geminiShellTool && typeof output === 'string' ? /^Exit Code: (-?\d+)$/m.exec(output) : null;
    const ok = call.status === 'success' && (exit === null || Number(exit[1]) === 0);
    // Use the displayed text, as the stream does: the text for the model contains process ids, which differ each time.
    const displayed = name === geminiShellTool && error === undefined ? asText(call.resultDisplay) : undefined;
    const result = { id, ok, output: displayed ?? output ?? call.resultDisplay, ...(error && { error }), ...owner };
    events.push({ type: 'tool_result', ...result });
    const subagent = name === geminiAgentTool && !besideStream ? asText(call.agentId) : undefined;
    if (subagent !== undefined)
      events.push({ type: 'subagent_ended', id: subagent, ok, ...(error && { reason: error }) });
  }

  return markEventsOf(jsonReader(readLine), 'files');
}
