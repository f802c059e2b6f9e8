/** The hooks of a guarded Claude: every tool call comes to the gate before it runs, and its ending is told after. */

import type { Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { beginHostCall, type HostCall, type OpenCall, wouldAsk } from '../../guard/entries/host-call.ts';
import { fingerprint } from '../../guard/internal.ts';
import { refusalText } from '../host/host-run.ts';
import { type OpenWorker, openWorker } from '../host/open-worker.ts';

interface HookInput {
  readonly agent_id?: string;
  readonly agent_type?: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_use_id?: string;
  readonly tool_response?: unknown;
  readonly error?: unknown;
  readonly is_interrupt?: boolean;
  readonly prompt?: string;
  readonly last_assistant_message?: unknown;
}

type Hook = (input: HookInput, id: string | undefined) => Promise<object>;

/** A worker that is out, and the agent that it became. */
interface SentWorker {
  readonly type: string;
  readonly worker: OpenWorker;
  agent?: string;
  /** In the background its call comes back at once, in the foreground after it has stopped. */
  isLaunched?: boolean;
  isOver?: boolean;
}

export interface ClaudeHooks {
  /** One matcher for each event. */
  readonly hooks: Readonly<Record<string, object>>;
  /** The task of the agent that a message or a call comes from. */
  taskOf(from: { readonly agent_id?: string; readonly parent_tool_use_id?: string | null }): Task;
  /** The run is over: nothing is known of what is still out. */
  settleUnfinished(): void;
}

const genericAgentType = /^(general-purpose|default|)$/;

export function createClaudeHooks(gear: Switchgear, root: Task): ClaudeHooks {
  const calls = new Map<string, OpenCall['settle']>();
  const sentWorkers = new Map<string, SentWorker>();
  const turns = new WeakMap<Task, number>();

  function taskOf({ agent_id, parent_tool_use_id }: Parameters<ClaudeHooks['taskOf']>[0]): Task {
    const byCall = parent_tool_use_id ? sentWorkers.get(parent_tool_use_id) : undefined;
    const found = byCall ?? [...sentWorkers.values()].find(({ agent }) => agent !== undefined && agent === agent_id);
    return found?.worker.task ?? root;
  }

  const PreToolUse: Hook = async (input, id = '') => {
    const { tool_name: name = '', tool_input: args } = input;
    const task = taskOf(input);
    const isAgent = name === 'Agent' || name === 'Task';
    const host: HostCall = {
      id,
      task,
      turnId: String(turns.get(task) ?? 0),
      // A tool of a server is one tool for all; Bash and its like belong to a session.
      breaker: { scope: name.startsWith('mcp__') ? 'shared' : 'session' },
    };
    if (!isAgent && wouldAsk(gear, name, [args], host)) return makeDecision('ask', 'A rule wants this confirmed.');
    if (!isAgent) {
      const answer = await beginHostCall(gear, name, [args], host);
      if (answer.refusal !== undefined) return makeRefusedOutput(answer.refusal);
      calls.set(id, answer.settle);
      return {};
    }
    const { subagent_type: type = '', prompt } = (args ?? {}) as {
      readonly subagent_type?: string;
      readonly prompt?: unknown;
    };
    const worker = genericAgentType.test(type) ? `${type || 'default'}:${fingerprint('prompt', prompt)}` : type;
    const answer = await openWorker(gear, task, worker, prompt);
    if (answer.refusal !== undefined) return makeRefusedOutput(answer.refusal);
    sentWorkers.set(id, { type, worker: answer });
    return {};
  };

  /** Tells the ending of a call, of a worker, or of one that a person let through. */
  function settle(input: HookInput, id: string, ending: Ending): void {
    const sentWorker = sentWorkers.get(id);
    const call = calls.get(id);
    if (sentWorker !== undefined) {
      const { status } = ('value' in ending && ending.value ? ending.value : {}) as { readonly status?: unknown };
      sentWorker.isLaunched = status === 'async_launched';
      if (sentWorker.isLaunched && !sentWorker.isOver) return;
      sentWorkers.delete(id);
      if (!sentWorker.isOver) sentWorker.worker.settle(ending);
    } else if (call !== undefined) {
      calls.delete(id);
      call(ending);
    } else {
      const task = taskOf(input);
      const ok = 'value' in ending;
      task.observe({ type: 'tool_use', id, name: String(input.tool_name), input: input.tool_input });
      task.observe({ type: 'tool_result', id, ok, output: ok ? ending.value : String(input.error) });
    }
  }

  const PostToolUse: Hook = async (input, id = '') => {
    settle(input, id, { value: input.tool_response });
    return {};
  };

  const PostToolUseFailure: Hook = async (input, id = '') => {
    const error = input.is_interrupt ? makeAbortError() : new Error(String(input.error));
    settle(input, id, { error });
    return {};
  };

  /** Once per model turn; a halt that no refused call told of ends the run here. */
  const PostToolBatch: Hook = async (input) => {
    const task = taskOf(input);
    turns.set(task, (turns.get(task) ?? 0) + 1);
    return task.halt === undefined ? {} : { continue: false, stopReason: task.halt.explanation };
  };

  const UserPromptSubmit: Hook = async ({ prompt = '' }) => {
    root.observe({ type: 'user', text: prompt });
    return {};
  };

  const SubagentStart: Hook = async ({ agent_id, agent_type = '' }) => {
    const waiting = [...sentWorkers.values()].find(
      ({ type, agent }) => agent === undefined && (type || 'default') === (agent_type || 'default'),
    );
    if (waiting !== undefined && agent_id !== undefined) waiting.agent = agent_id;
    return {};
  };

  const SubagentStop: Hook = async ({ agent_id, last_assistant_message: value }) => {
    for (const [id, sentWorker] of sentWorkers) {
      if (sentWorker.agent === undefined || sentWorker.agent !== agent_id) continue;
      sentWorker.isOver = true;
      if (sentWorker.isLaunched) sentWorkers.delete(id);
      sentWorker.worker.settle({ value });
    }
    return {};
  };

  const hooks = {
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    UserPromptSubmit,
    SubagentStart,
    SubagentStop,
  };
  // A guard that broke must not let a call through, and one that waits for a person needs the time.
  const timeout = gear.settings.approval.timeoutSecs + 10;
  const matcher = (hook: Hook) => ({ hooks: [hook], timeout, onFailure: 'block' });
  return {
    hooks: Object.fromEntries(Object.entries(hooks).map(([event, hook]) => [event, matcher(hook)])),
    taskOf,
    settleUnfinished() {
      for (const call of calls.values()) call({ error: makeAbortError() });
      for (const { worker } of sentWorkers.values()) worker.settle({ error: makeAbortError() });
      calls.clear();
      sentWorkers.clear();
    },
  };
}

/** Denied and ended at once: `continue: false` alone would still run this call. */
function makeRefusedOutput(refusal: Refusal): object {
  const output = makeDecision('deny', refusalText(refusal));
  return refusal.kind === 'halt' ? { ...output, continue: false, stopReason: refusal.explanation } : output;
}

function makeDecision(permissionDecision: 'ask' | 'deny', permissionDecisionReason: string): object {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason } };
}

function makeAbortError(): DOMException {
  return new DOMException('the run is over', 'AbortError');
}
