/** The hooks of Claude Code. A halt is a deny and `continue: false` together: either alone lets something go on. */

import { basename } from 'node:path';
import { claudeSessionReader } from '../../agents/claude-code/session-file.ts';
import {
  type CallEndedEvent,
  type Delegation,
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

export const claudeCode: HookHost = {
  name: 'claude-code',
  reportsTurns: true,
  read,
  transcript,
  answer,
  isAttended: (payload, { CLAUDE_CODE_SESSION_ATTENDED: attended, CLAUDE_CODE_ENTRYPOINT: entry }) =>
    payload.permission_mode === 'default' && (attended === undefined ? entry === 'cli' : attended === '1'),
};

function read(payload: Payload): HookEvent {
  const place = placeIn(payload);
  const { agent } = place;
  switch (payload.hook_event_name) {
    case 'SessionStart':
      return { type: 'session-started', ...place };
    case 'UserPromptSubmit':
      return { type: 'prompt', ...place, ...promptOf(textIn(payload, 'prompt') ?? '', agent) };
    case 'PreToolUse':
      return { type: 'call-proposed', ...place, ...callOf(payload) };
    case 'PostToolUse':
      return ended(payload, { value: payload.tool_response });
    case 'PostToolUseFailure':
      return ended(
        payload,
        payload.is_interrupt === true ? { cancelled: true } : failed(textIn(payload, 'error') ?? ''),
      );
    case 'PostToolBatch':
      return { type: 'batch-ended', ...place };
    case 'SubagentStart':
      return agent === undefined ? { type: 'other' } : { type: 'subagent-started', ...place, agent };
    case 'SubagentStop':
      return agent === undefined ? { type: 'other' } : { type: 'subagent-ended', ...place, agent };
    case 'Stop': {
      const background = Array.isArray(payload.background_tasks) ? payload.background_tasks.length : undefined;
      return { type: 'stopped', ...place, background };
    }
    case 'SessionEnd':
      return { type: 'session-ended', ...place };
    default:
      return { type: 'other' };
  }
}

/** Files of subagents lie in a folder beside that of the conversation, which is named in their place. */
function transcript(payload: Payload): Transcript | undefined {
  const main = textIn(payload, 'transcript_path');
  const agent = textIn(payload, 'agent_id');
  const below = agent && main?.replace(/(\.jsonl)?$/, `/subagents/agent-${basename(agent)}.jsonl`);
  const path = textIn(payload, 'agent_transcript_path') ?? below ?? main;
  return path === undefined ? undefined : { path, reader: () => claudeSessionReader({ besideStream: true }) };
}

/** What the harness writes in the place of a person begins with a tag of its own. */
const harness = /^\s*<(task-notification|system-reminder|command-name|local-command-stdout|bash-(in|std(out|err)))\b/;

/** What a subagent is asked no person typed. */
function promptOf(text: string, asked: string | undefined) {
  if (asked === undefined && !harness.test(text)) return { text, by: 'person' } as const;
  const isFailed = /<status>(failed|error)<\/status>/.test(text);
  const [, agent] = /<task-id>([\w-]+)<\/task-id>/.exec(text) ?? [];
  return { text, by: 'harness', failed: isFailed && agent !== undefined ? [agent] : [] } as const;
}

export function callOf(payload: Payload) {
  const tool = textIn(payload, 'tool_name') ?? 'unknown';
  const id = textIn(payload, 'tool_use_id');
  return { id, tool, input: payload.tool_input, delegation: sentBy(tool, payload), isShared: tool.startsWith('mcp__') };
}

function sentBy(tool: string, payload: Payload): Delegation | undefined {
  if (tool !== 'Agent' && tool !== 'Task') return undefined;
  const input = partIn(payload, 'tool_input');
  return { type: textIn(input, 'subagent_type') ?? 'general-purpose', prompt: textIn(input, 'prompt') ?? '' };
}

function ended(payload: Payload, ending: CallEndedEvent['ending']): HookEvent {
  const response = partIn(payload, 'tool_response');
  const agent = textIn(response, 'agentId');
  const sent = agent === undefined ? undefined : { agent, goesOn: response.status === 'async_launched' };
  const isCut = response.interrupted === true;
  return {
    type: 'call-ended',
    ...placeIn(payload),
    ...callOf(payload),
    ending: isCut ? { cancelled: true } : ending,
    sent,
  };
}

function answer(event: HookEvent, decision: HookDecision): HookAnswer {
  const isProposed = event.type === 'call-proposed';
  switch (decision.kind) {
    case 'pass':
      return silence;
    case 'note': {
      const hookEventName = event.type === 'batch-ended' ? 'PostToolBatch' : 'PostToolUse'; // The latter is Codex's.
      return { stdout: { hookSpecificOutput: { hookEventName, additionalContext: decision.text } }, code: 0 };
    }
    case 'ask':
    case 'deny':
      return isProposed ? { stdout: judged(decision.kind, decision.reason), code: 0 } : silence;
    case 'halt': {
      const over = { continue: false, stopReason: decision.reason };
      return { stdout: isProposed ? { ...over, ...judged('deny', decision.reason) } : over, code: 0 };
    }
  }
}

export function judged(permissionDecision: 'ask' | 'deny', permissionDecisionReason: string): object {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason } };
}
