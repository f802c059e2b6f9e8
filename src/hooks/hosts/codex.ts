/**
 * The hooks of Codex: those of Claude Code, with less. `continue: false` before a call counts as a broken hook there,
 * and a broken hook lets the call run: a halt refuses each call, and ends the turn after one that ran.
 */

import { codexSessionReader } from '../../agents/codex/session-file.ts';
import { looksLikeFailure } from '../../agents/reading/shell-failure.ts';
import { callOf, claudeCode, judged } from './claude-code.ts';
import {
  failed,
  type HookAnswer,
  type HookDecision,
  type HookEvent,
  type HookHost,
  type Payload,
  partIn,
  placeIn,
  silence,
  type Transcript,
  textIn,
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
  if (payload.hook_event_name !== 'PostToolUse') return withWorker(claudeCode.read(payload), payload);
  const output = payload.tool_response;
  const isError = partIn(payload, 'tool_response').isError === true;
  // Exit codes are not told: what reads like a failure is one.
  const ending = looksLikeFailure(output)
    ? failed(String(output))
    : isError
      ? failed(JSON.stringify(output))
      : undefined;
  const ended = {
    type: 'call-ended',
    ...placeIn(payload),
    ...callOf(payload),
    ending: ending ?? { value: output },
  } as const;
  return withWorker(ended, payload);
}

/** Each thread has a file of its own. */
function transcript(payload: Payload): Transcript | undefined {
  const path = textIn(payload, 'agent_transcript_path') ?? textIn(payload, 'transcript_path');
  return path === undefined ? undefined : { path, reader: () => codexSessionReader(), model: textIn(payload, 'model') };
}

/** Its subagents are sent out by a tool with another name. */
function withWorker(event: HookEvent, payload: Payload): HookEvent {
  if (event.type !== 'call-proposed' && event.type !== 'call-ended') return event;
  if (!/^(multi_agent\w*[._])?spawn_agent$/.test(event.tool)) return event;
  const input = partIn(payload, 'tool_input');
  const prompt = textIn(input, 'message') ?? textIn(input, 'prompt') ?? '';
  return { ...event, delegation: { type: textIn(input, 'agent_type') ?? 'default', prompt } };
}

function answer(event: HookEvent, decision: HookDecision): HookAnswer {
  if (event.type === 'call-proposed' && (decision.kind === 'halt' || decision.kind === 'ask')) {
    return { stdout: judged('deny', decision.reason), code: 0 };
  }
  if (decision.kind === 'halt' && event.type !== 'call-ended') return silence;
  return claudeCode.answer(event, decision);
}
