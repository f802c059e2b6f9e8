/**
 * The hooks of Codex: those of Claude Code, with less. `continue: false` before a call counts as a broken hook there,
 * and a broken hook lets the call run: a halt refuses each call, and ends the turn after one that ran.
 */

import { codexSessionReader } from '../../agents/codex/session-file.ts';
import { looksLikeFailure } from '../../agents/reading/shell-failure.ts';
import { claudeCode, formatPermission, readCall } from './claude-code.ts';
import {
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
  type TranscriptFile,
} from './hook-event.ts';

export const codex: HookHost = {
  name: 'codex',
  reportsTurns: false,
  streamNames: { Bash: 'shell' },
  read,
  transcript,
  answer,
  isAttended: () => false, // It cannot be told to ask: a question goes to the inbox.
};

function read(payload: Payload): HookEvent {
  if (payload.hook_event_name !== 'PostToolUse') return addDelegation(claudeCode.read(payload), payload);
  const output = payload.tool_response;
  const isError = readObjectField(payload, 'tool_response').isError === true;
  // Exit codes are not told: what reads like a failure is one.
  const ending = looksLikeFailure(output)
    ? makeFailedEnding(String(output))
    : isError
      ? makeFailedEnding(JSON.stringify(output))
      : undefined;
  const ended = {
    type: 'call-ended',
    ...readOrigin(payload),
    ...readCall(payload),
    ending: ending ?? { value: output },
  } as const;
  return addDelegation(ended, payload);
}

/** Each thread has a file of its own. */
function transcript(payload: Payload): TranscriptFile | undefined {
  const path = readTextField(payload, 'agent_transcript_path') ?? readTextField(payload, 'transcript_path');
  return path === undefined
    ? undefined
    : { path, reader: () => codexSessionReader(), model: readTextField(payload, 'model') };
}

/** Its subagents are sent out by a tool with another name. */
function addDelegation(event: HookEvent, payload: Payload): HookEvent {
  if (event.type !== 'call-proposed' && event.type !== 'call-ended') return event;
  if (!/^(multi_agent\w*[._])?spawn_agent$/.test(event.tool)) return event;
  const input = readObjectField(payload, 'tool_input');
  const prompt = readTextField(input, 'message') ?? readTextField(input, 'prompt') ?? '';
  return { ...event, delegation: { type: readTextField(input, 'agent_type') ?? 'default', prompt } };
}

function answer(event: HookEvent, decision: HookDecision): HookAnswer {
  if (event.type === 'call-proposed' && (decision.kind === 'halt' || decision.kind === 'ask')) {
    return { stdout: formatPermission('deny', decision.reason), code: 0 };
  }
  if (decision.kind === 'halt' && event.type !== 'call-ended') return noAnswer;
  return claudeCode.answer(event, decision);
}
