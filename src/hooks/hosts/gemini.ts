/**
 * The hooks of Gemini CLI. Its calls have no ids, so an end belongs to the oldest open call with the same arguments.
 */

import { geminiSessionReader } from '../../agents/gemini/session-file.ts';
import { textOf } from '../../core/foreign-text.ts';
import { textLengthMax } from '../../core/limits.ts';
import {
  type CallEndedEvent,
  type HookAnswer,
  type HookDecision,
  type HookEvent,
  type HookHost,
  makeFailedEnding,
  noAnswer,
  type Payload,
  readObjectField,
  readOrigin,
  readTextField,
} from './hook-event.ts';

export const gemini: HookHost = {
  name: 'gemini',
  reportsTurns: false,
  inputEdits: 'merge',
  read,
  transcript: (payload) => {
    const path = readTextField(payload, 'transcript_path');
    return path === undefined ? undefined : { path, reader: () => geminiSessionReader({ besideStream: true }) };
  },
  answer,
  isAttended: () => false, // The payload does not say whether a person is at the terminal.
};

function read(payload: Payload): HookEvent {
  const origin = readOrigin(payload);
  switch (payload.hook_event_name) {
    case 'SessionStart':
      return { type: 'session-started', ...origin };
    case 'BeforeAgent':
      return { type: 'prompt', ...origin, text: readTextField(payload, 'prompt') ?? '', by: 'person' };
    case 'BeforeTool':
      return { type: 'call-proposed', ...origin, ...readCall(payload) };
    case 'AfterTool':
      return {
        type: 'call-ended',
        ...origin,
        ...readCall(payload),
        ending: readEnding(payload, readObjectField(payload, 'tool_response')),
      };
    case 'AfterAgent':
      return { type: 'stopped', ...origin, background: 0 };
    case 'SessionEnd':
      return { type: 'session-ended', ...origin };
    default:
      return { type: 'other' };
  }
}

function readCall(payload: Payload) {
  const tool = readTextField(payload, 'tool_name') ?? 'unknown';
  const isShared = payload.mcp_context !== undefined || /^mcp_/.test(tool);
  const proxyName = readProxyName(readObjectField(payload, 'mcp_context'));
  return { id: undefined, tool, input: payload.tool_input, isShared, ...(proxyName && { proxyName }) };
}

/** The name of a server's tool for a proxy; Gemini itself says `mcp_server_tool`. */
function readProxyName(context: Payload): string | undefined {
  const server = readTextField(context, 'server_name');
  const tool = readTextField(context, 'tool_name');
  return server && tool && `mcp__${server.replaceAll(/[^\w-]/g, '_')}__${tool}`;
}

const contentBounds = { characters: textLengthMax, entries: textLengthMax };

/** Gemini reports a failing command as a success, with its exit code in the text for the model. */
function readEnding(payload: Payload, response: Payload): CallEndedEvent['ending'] {
  const { error, llmContent } = response;
  const text = textOf(llmContent ?? '', contentBounds);
  if (error !== undefined && error !== null) {
    const { message } = readObjectField(response, 'error');
    return makeFailedEnding(typeof message === 'string' ? message : text, payload);
  }
  // Process ids differ each time, so they are removed before results are compared.
  const shown = text.replace(/^Process Group PGID: .*$/m, '');
  return /^Exit Code: [1-9]/m.test(text) ? makeFailedEnding(shown, payload) : { value: shown };
}

function answer(event: HookEvent, decision: HookDecision): HookAnswer {
  const isProposed = event.type === 'call-proposed';
  switch (decision.kind) {
    case 'pass':
      return noAnswer;
    case 'edit': {
      const hookSpecificOutput = { hookEventName: 'BeforeTool', tool_input: decision.input };
      return { stdout: { decision: 'allow', hookSpecificOutput }, code: 0 };
    }
    case 'note':
      return { stdout: { hookSpecificOutput: { additionalContext: decision.text } }, code: 0 };
    case 'ask':
    case 'deny':
      return isProposed ? { stdout: { decision: decision.kind, reason: decision.reason }, code: 0 } : noAnswer;
    case 'halt': {
      const stopOutput = { continue: false, stopReason: decision.reason };
      const denial = isProposed ? { decision: 'deny', reason: decision.reason } : {};
      return { stdout: { ...stopOutput, ...denial }, code: 0 };
    }
  }
}
