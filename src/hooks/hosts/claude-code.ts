/**
 * The hooks of Claude Code. A halt needs both a deny and `continue: false`: the first alone lets the run continue,
 * the second alone lets the call run.
 */

import { claudeSessionReader } from '../../agents/claude-code/session-file.ts';
import {
  type CallEndedEvent,
  type Delegation,
  type HookAnswer,
  type HookDecision,
  type HookEvent,
  type HookHost,
  makeFailedEnding,
  noAnswer,
  type Payload,
  type RejectedCall,
  readObjectField,
  readOrigin,
  readTextField,
  type TranscriptFile,
} from './hook-event.ts';

export const claudeCode: HookHost = {
  name: 'claude-code',
  reportsTurns: true,
  inputEdits: 'replace',
  read,
  transcript,
  answer,
  isAttended: (payload, { CLAUDE_CODE_SESSION_ATTENDED: attended, CLAUDE_CODE_ENTRYPOINT: entry }) =>
    payload.permission_mode === 'default' && (attended === undefined ? entry === 'cli' : attended === '1'),
};

function read(payload: Payload): HookEvent {
  const origin = readOrigin(payload);
  const { agent } = origin;
  switch (payload.hook_event_name) {
    case 'SessionStart':
      return { type: 'session-started', ...origin };
    case 'UserPromptSubmit':
      return { type: 'prompt', ...origin, ...readPrompt(readTextField(payload, 'prompt') ?? '', agent) };
    case 'PreToolUse':
      return { type: 'call-proposed', ...origin, ...readCall(payload) };
    case 'PostToolUse':
      return readCallEnded(payload, { value: payload.tool_response });
    case 'PostToolUseFailure':
      return readCallEnded(
        payload,
        payload.is_interrupt === true
          ? { cancelled: true }
          : makeFailedEnding(readTextField(payload, 'error') ?? '', payload),
      );
    case 'PostToolBatch':
      return { type: 'batch-ended', ...origin, rejected: readRejected(payload) };
    case 'SubagentStart':
      return agent === undefined ? { type: 'other' } : { type: 'subagent-started', ...origin, agent };
    case 'SubagentStop':
      return agent === undefined ? { type: 'other' } : { type: 'subagent-ended', ...origin, agent };
    case 'Stop': {
      const background = Array.isArray(payload.background_tasks) ? payload.background_tasks.length : undefined;
      return { type: 'stopped', ...origin, background };
    }
    case 'SessionEnd':
      return { type: 'session-ended', ...origin };
    default:
      return { type: 'other' };
  }
}

/** The calls of a turn that Claude Code refused before any hook. */
function readRejected({ tool_calls: calls }: Payload): readonly RejectedCall[] {
  return (Array.isArray(calls) ? (calls as readonly Payload[]) : []).flatMap((call) => {
    const output = readTextField(call, 'tool_response') ?? '';
    const id = readTextField(call, 'tool_use_id');
    const tool = readTextField(call, 'tool_name');
    const isRejected = id !== undefined && tool !== undefined && output.startsWith('<tool_use_error>');
    return isRejected ? [{ id, tool, input: call.tool_input, output }] : [];
  });
}

/** The payload of a subagent names the file of the conversation; the subagent's own file is in a folder beside it. */
function transcript(payload: Payload): TranscriptFile | undefined {
  const main = readTextField(payload, 'transcript_path');
  const { agent } = readOrigin(payload);
  const subagentPath = agent && main?.replace(/(\.jsonl)?$/, `/subagents/agent-${agent}.jsonl`);
  const path = readTextField(payload, 'agent_transcript_path') ?? subagentPath ?? main;
  return path === undefined ? undefined : { path, reader: () => claudeSessionReader({ besideStream: true }) };
}

/** Matches prompts that Claude Code itself writes, which begin with one of its tags. */
const harnessTag =
  /^\s*<(task-notification|system-reminder|command-name|local-command-stdout|bash-(in|std(out|err)))\b/;

/** Reads a prompt. The prompt of a subagent is not from a person. */
function readPrompt(text: string, agentId: string | undefined) {
  if (agentId === undefined && !harnessTag.test(text)) return { text, by: 'person' } as const;
  const isFailed = /<status>(failed|error)<\/status>/.test(text);
  const [, agent] = /<task-id>([\w-]+)<\/task-id>/.exec(text) ?? [];
  return { text, by: 'harness', failed: isFailed && agent !== undefined ? [agent] : [] } as const;
}

export function readCall(payload: Payload) {
  const tool = readTextField(payload, 'tool_name') ?? 'unknown';
  const id = readTextField(payload, 'tool_use_id');
  return {
    id,
    tool,
    input: payload.tool_input,
    delegation: readDelegation(tool, payload),
    isShared: tool.startsWith('mcp__'),
  };
}

function readDelegation(tool: string, payload: Payload): Delegation | undefined {
  if (tool !== 'Agent' && tool !== 'Task') return undefined;
  const input = readObjectField(payload, 'tool_input');
  return {
    type: readTextField(input, 'subagent_type') ?? 'general-purpose',
    prompt: readTextField(input, 'prompt') ?? '',
  };
}

function readCallEnded(payload: Payload, ending: CallEndedEvent['ending']): HookEvent {
  const response = readObjectField(payload, 'tool_response');
  const agent = readTextField(response, 'agentId');
  const subagent = agent === undefined ? undefined : { agent, isBackground: response.status === 'async_launched' };
  const isCut = response.interrupted === true;
  return {
    type: 'call-ended',
    ...readOrigin(payload),
    ...readCall(payload),
    ending: isCut ? { cancelled: true } : ending,
    subagent,
  };
}

function answer(event: HookEvent, decision: HookDecision): HookAnswer {
  const isProposed = event.type === 'call-proposed';
  switch (decision.kind) {
    case 'pass':
      return noAnswer;
    case 'edit': {
      const permission = { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput: decision.input };
      return { stdout: { hookSpecificOutput: permission }, code: 0 };
    }
    case 'note': {
      // Codex has no PostToolBatch.
      const hookEventName = event.type === 'batch-ended' ? 'PostToolBatch' : 'PostToolUse';
      return { stdout: { hookSpecificOutput: { hookEventName, additionalContext: decision.text } }, code: 0 };
    }
    case 'ask':
    case 'deny':
      return isProposed ? { stdout: formatPermission(decision.kind, decision.reason), code: 0 } : noAnswer;
    case 'halt': {
      const stopOutput = { continue: false, stopReason: decision.reason };
      return {
        stdout: isProposed ? { ...stopOutput, ...formatPermission('deny', decision.reason) } : stopOutput,
        code: 0,
      };
    }
  }
}

export function formatPermission(permissionDecision: 'ask' | 'deny', permissionDecisionReason: string): object {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason } };
}
