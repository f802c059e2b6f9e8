/** Reads the chat files of Gemini CLI: tokens per message, and the exit codes that its stream hides. */

import { createRecentMap } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { SessionReaderOptions } from '../claude-code/session-file.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, jsonReader, listOf, nothing, type Reader, textOf } from '../reading/reader.ts';
import { geminiTokens, isNothing } from '../reading/tokens.ts';
import { geminiAgentTool, geminiShell } from './stream.ts';

export interface GeminiSessionOptions extends SessionReaderOptions {
  /** The subagent whose chat it is. */
  readonly agent?: string;
}

export function geminiSessionReader({ beside = false, agent }: GeminiSessionOptions = {}): Reader {
  const of = agent === undefined ? {} : { agent };
  const isShown = beside && agent === undefined;
  /** A message is written twice: alone, and again with its calls once they are done. */
  const said = createRecentMap<true>(countedIdsMax);

  function take(line: Fields): readonly AgentEvent[] {
    const id = textOf(line.id);
    if (id === undefined) {
      const session = agent === undefined && line.kind === 'main' ? textOf(line.sessionId) : undefined;
      return session === undefined ? nothing : [{ type: 'session', id: session }];
    }
    if (line.type === 'user') return isShown ? nothing : takeUser(listOf(line.content));
    return line.type === 'gemini' ? takeMessage(id, line) : nothing;
  }

  function takeUser(content: readonly unknown[]): readonly AgentEvent[] {
    const text = content.map((part) => textOf(fieldsOf(part).text) ?? '').join('\n');
    if (text.trim() === '') return nothing; // Results of calls, which the message has, too.
    const isTyped = agent === undefined && !text.startsWith('<');
    return [{ type: 'user', text, by: isTyped ? 'person' : 'harness', ...of }];
  }

  function takeMessage(id: string, line: Fields): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    const text = textOf(line.content);
    if (said.get(id) === undefined) {
      said.set(id, true);
      if (!isShown && text !== undefined) events.push({ type: 'assistant', text, message: id, ...of });
    }
    const model = textOf(line.model);
    const tokens = geminiTokens(fieldsOf(line.tokens));
    if (!isNothing(tokens)) events.push({ type: 'usage', id, ...(model && { model }), ...tokens, ...of });
    for (const call of listOf(line.toolCalls)) takeCall(fieldsOf(call), id, events);
    return events;
  }

  function takeCall(call: Fields, message: string, events: AgentEvent[]): void {
    const id = textOf(call.id);
    if (id === undefined) return;
    const name = textOf(call.name) ?? 'tool';
    events.push({ type: 'tool_use', id, name, input: call.args, message, ...of });
    const response = fieldsOf(fieldsOf(fieldsOf(listOf(call.result)[0]).functionResponse).response);
    const error = textOf(response.error);
    const output = error ?? response.output;
    const exit = name === geminiShell && typeof output === 'string' ? /^Exit Code: (-?\d+)$/m.exec(output) : null;
    const ok = call.status === 'success' && (exit === null || Number(exit[1]) === 0);
    // What a person is shown is what the stream tells; the model also gets numbers of processes, new each time.
    const shown = name === geminiShell && error === undefined ? textOf(call.resultDisplay) : undefined;
    const result = { id, ok, output: shown ?? output ?? call.resultDisplay, ...(error && { error }), ...of };
    events.push({ type: 'tool_result', ...result });
    const sent = name === geminiAgentTool && !beside ? textOf(call.agentId) : undefined;
    if (sent !== undefined) events.push({ type: 'subagent_ended', id: sent, ok, ...(error && { reason: error }) });
  }

  return jsonReader(take);
}
