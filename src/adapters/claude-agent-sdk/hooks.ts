/** The hooks of a guarded query: they decide on every tool call before it runs and report its outcome afterwards. */

import type { Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { type HostCall, wouldAsk } from '../../guard/entries/host-call.ts';
import { beginHostCall, type OpenCall } from '../../guard/entries/open-call.ts';
import { createCallsById } from '../host/calls-by-id.ts';
import { refusalText } from '../host/host-run.ts';
import { type MessageOrigin, makeAbortError, SentWorkers } from './sent-workers.ts';

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

export interface ClaudeHooks {
  /** One matcher for each event. */
  readonly hooks: Readonly<Record<string, object>>;
  /** The task of the agent that sent a message or made a call. */
  taskOf(from: MessageOrigin): Task;
  /** Settles calls and workers that are still open when the run ends; their outcome is unknown. */
  settleUnfinished(): void;
}

export function createClaudeHooks(gear: Switchgear, root: Task): ClaudeHooks {
  const hooks = new RunHooks(gear, root);
  // A hook that fails must block the call, and a hook that waits for a person needs the time.
  const timeout = gear.settings.approval.timeoutSecs + 10;
  const matcher = (hook: Hook) => ({ hooks: [hook], timeout, onFailure: 'block' });
  return {
    hooks: {
      PreToolUse: matcher((input, id) => hooks.preToolUse(input, id)),
      PostToolUse: matcher((input, id) => hooks.postToolUse(input, id)),
      PostToolUseFailure: matcher((input, id) => hooks.postToolUseFailure(input, id)),
      PostToolBatch: matcher((input) => hooks.postToolBatch(input)),
      UserPromptSubmit: matcher((input) => hooks.userPromptSubmit(input)),
      SubagentStart: matcher((input) => hooks.subagentStart(input)),
      SubagentStop: matcher((input) => hooks.subagentStop(input)),
    },
    taskOf: (from) => hooks.taskOf(from),
    settleUnfinished: () => hooks.settleUnfinished(),
  };
}

/** The hooks of one run, one method per event, with the open calls and workers of the run. */
class RunHooks {
  readonly #gear: Switchgear;
  readonly #root: Task;
  readonly #calls = createCallsById<OpenCall['settle']>();
  /** Unique ids of the calls about which a person is asked. */
  readonly #asked = createCallsById<string>();
  #askedCount = 0;
  readonly #workers = new SentWorkers();
  /** Model turns by task. */
  readonly #turns = new WeakMap<Task, number>();

  constructor(gear: Switchgear, root: Task) {
    this.#gear = gear;
    this.#root = root;
  }

  taskOf(from: MessageOrigin): Task {
    return this.#workers.findTask(from) ?? this.#root;
  }

  async preToolUse(input: HookInput, id = ''): Promise<object> {
    const { tool_name: name = '', tool_input: args } = input;
    const task = this.taskOf(input);
    if (name === 'Agent' || name === 'Task') {
      const refusal = await this.#workers.send(this.#gear, task, id, args);
      return refusal === undefined ? {} : makeRefusedOutput(refusal);
    }
    const host: HostCall = {
      id,
      task,
      turnId: String(this.#turns.get(task) ?? 0),
      // All sessions share the breaker of an MCP tool; built-in tools such as Bash have one per session.
      breaker: { scope: name.startsWith('mcp__') ? 'shared' : 'session' },
      canEdit: true,
    };
    if (wouldAsk(this.#gear, name, [args], host)) {
      this.#asked.add(id, args, `${id}#${++this.#askedCount}`);
      return makeDecision('ask', 'A rule wants this confirmed.');
    }
    const answer = await beginHostCall(this.#gear, name, [args], host);
    if (answer.refusal !== undefined) return makeRefusedOutput(answer.refusal);
    const [ownArgs] = answer.args;
    this.#calls.add(id, ownArgs, answer.settle);
    return ownArgs === args ? {} : makeDecision('allow', 'A person approved these arguments.', ownArgs);
  }

  async postToolUse(input: HookInput, id = ''): Promise<object> {
    this.#settle(input, id, { value: input.tool_response });
    return {};
  }

  async postToolUseFailure(input: HookInput, id = ''): Promise<object> {
    const error = input.is_interrupt ? makeAbortError() : new Error(String(input.error));
    this.#settle(input, id, { error });
    return {};
  }

  /** Called once per model turn; ends a halted run if no refused call has ended it. */
  async postToolBatch(input: HookInput): Promise<object> {
    const task = this.taskOf(input);
    this.#turns.set(task, (this.#turns.get(task) ?? 0) + 1);
    return task.halt === undefined ? {} : { continue: false, stopReason: task.halt.explanation };
  }

  async userPromptSubmit({ prompt = '' }: HookInput): Promise<object> {
    this.#root.observe({ type: 'user', text: prompt });
    return {};
  }

  async subagentStart({ agent_id, agent_type = '' }: HookInput): Promise<object> {
    if (agent_id !== undefined) this.#workers.recordStart(agent_id, agent_type);
    return {};
  }

  async subagentStop({ agent_id, last_assistant_message: value }: HookInput): Promise<object> {
    if (agent_id !== undefined) this.#workers.recordStop(agent_id, { value });
    return {};
  }

  settleUnfinished(): void {
    for (const settle of this.#calls.takeAll()) settle({ error: makeAbortError() });
    this.#workers.settleAll();
  }

  /** Settles a call or a worker; observes a call that a person let through. */
  #settle(input: HookInput, id: string, ending: Ending): void {
    if (this.#workers.recordReturn(id, ending)) return;
    const settle = this.#calls.take(id, input.tool_input);
    if (settle !== undefined) {
      settle(ending);
      return;
    }
    const task = this.taskOf(input);
    const ok = 'value' in ending;
    const observedId = this.#asked.take(id, input.tool_input) ?? id;
    task.observe({ type: 'tool_use', id: observedId, name: String(input.tool_name), input: input.tool_input });
    task.observe({ type: 'tool_result', id: observedId, ok, output: ok ? ending.value : String(input.error) });
  }
}

/** Denies the call and ends the run: with `continue: false` alone the call would still run. */
function makeRefusedOutput(refusal: Refusal): object {
  const output = makeDecision('deny', refusalText(refusal));
  return refusal.kind === 'halt' ? { ...output, continue: false, stopReason: refusal.explanation } : output;
}

function makeDecision(
  permissionDecision: 'allow' | 'ask' | 'deny',
  permissionDecisionReason: string,
  updatedInput?: unknown,
): object {
  const decision = { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason };
  return { hookSpecificOutput: updatedInput === undefined ? decision : { ...decision, updatedInput } };
}
