/**
 * The hooks of Codex, a subset of those of Claude Code. Codex treats `continue: false` before a call as a broken
 * hook, and runs the call. So a halt refuses each call, and ends the turn only after a call that ran.
 */

import { codexSessionReader } from '../../agents/codex/session-file.ts';
import { looksLikeFailure } from '../../agents/reading/shell-failure.ts';
import { textOf } from '../../core/foreign-text.ts';
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
  isAttended: () => false, // Codex cannot ask a person for a hook, so questions go to the inbox.
};

function read(payload: Payload): HookEvent {
  if (payload.hook_event_name !== 'PostToolUse') return addDelegation(claudeCode.read(payload), payload);
  const output = payload.tool_response;
  const isError = readObjectField(payload, 'tool_response').isError === true;
  // The payload has no exit code, so a failure is recognised by the output.
  const isFailed = isError || looksLikeFailure(output, readTextField(payload, 'tool_name') ?? '');
  const ending = isFailed ? makeFailedEnding(textOf(output), payload) : undefined;
  const ended = {
    type: 'call-ended',
    ...readOrigin(payload),
    ...readCall(payload),
    ending: ending ?? { value: output },
  } as const;
  return addDelegation(ended, payload);
}

/** Each thread has its own file. */
function transcript(payload: Payload): TranscriptFile | undefined {
  const path = readTextField(payload, 'agent_transcript_path') ?? readTextField(payload, 'transcript_path');
  return path === undefined
    ? undefined
    : { path, reader: () => codexSessionReader(), model: readTextField(payload, 'model') };
}

/** Codex starts subagents with a tool of another name. */
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
