/** Guards a tool of the OpenAI Agents SDK by two guardrails: one decides before the call, one settles it afterwards. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { beginHostCall, joinSignals, type OpenCall, wouldAsk } from '../../guard/entries/host-call.ts';
import { refusalText, turnOf } from '../host/host-run.ts';
import { openWorker } from '../host/open-worker.ts';

/** Running calls by task, tool and id: some providers use the same call ids in every run. */
export type OpenCalls = Map<string, Omit<OpenCall, 'refusal'> & { readonly task: Task | undefined }>;

interface ToolLike {
  readonly type?: unknown;
  readonly name?: unknown;
  readonly inputGuardrails?: readonly object[];
  readonly outputGuardrails?: readonly object[];
  readonly needsApproval?: (context: unknown, input: unknown, callId?: string) => Promise<boolean>;
  readonly invoke?: (context: unknown, input: unknown, details?: InvokeDetails) => unknown;
}

interface InvokeDetails {
  readonly toolCall?: { readonly callId?: string };
  signal?: AbortSignal;
}

interface GuardrailInput {
  readonly toolCall: { readonly callId: string; readonly arguments?: string };
  readonly output?: unknown;
}

/** The shared state of the tools of a runner. */
export interface RunnerContext {
  readonly gear: Switchgear;
  readonly calls: OpenCalls;
  /** Errors reported by protected tools, by call id. */
  readonly errors: Map<string, unknown>;
  /** The abort signal of each task's run. */
  readonly signals: WeakMap<Task, AbortSignal>;
  readonly workers: readonly string[];
}

/** The SDK's default result of a tool that threw an error. */
const hiddenError = 'An error occurred while running the tool. Please try again.';
const allow = { behavior: { type: 'allow' } };

export function guardTool(tool: object, { gear, calls, errors, signals, workers }: RunnerContext): object {
  const { type, name: toolName, inputGuardrails = [], outputGuardrails = [], needsApproval, invoke } = tool as ToolLike;
  if (type !== 'function') return tool; // The provider runs this tool.
  const name = String(toolName);
  const pendingApprovals = new Set<string>();
  const callKey = (task: Task | undefined, callId: string) => `${task?.id} ${name} ${callId}`;

  const inputGuardrail = {
    type: 'tool_input',
    name: 'switchgear',
    async run({ toolCall }: GuardrailInput) {
      const { callId } = toolCall;
      const task = gear.currentTask();
      const key = callKey(task, callId);
      if (calls.has(key)) return allow; // The SDK runs the guardrail twice, before and after an approval.
      const input = parseArguments(toolCall.arguments);
      const ask = () => ({ approved: pendingApprovals.delete(key), by: 'the user' });
      const answer =
        task !== undefined && workers.includes(name)
          ? await openWorker(gear, task, name, input)
          : await beginHostCall(
              gear,
              name,
              [input],
              { id: callId, task, turnId: task && turnOf(task), signal: task && signals.get(task), ask },
              true,
            );
      if (answer.refusal !== undefined)
        return { behavior: { type: 'rejectContent', message: refusalText(answer.refusal) } };
      calls.set(key, { task, settle: answer.settle, run: answer.run });
      return allow;
    },
  };

  const outputGuardrail = {
    type: 'tool_output',
    name: 'switchgear',
    async run({ toolCall: { callId }, output }: GuardrailInput) {
      const error = errors.get(callId) ?? (output === hiddenError ? new Error(hiddenError) : undefined);
      errors.delete(callId);
      const key = callKey(gear.currentTask(), callId);
      calls.get(key)?.settle(error === undefined ? { value: output } : { error });
      calls.delete(key);
      return allow;
    },
  };

  const checkApproval = async (context: unknown, input: unknown, callId = '') => {
    if (!wouldAsk(gear, name, [input], { id: callId })) return (await needsApproval?.(context, input, callId)) ?? false;
    pendingApprovals.add(callKey(gear.currentTask(), callId));
    return true;
  };
  /** Runs the tool until it ends, times out or its run halts; the model gets the reason. */
  const invokeInTime = async (context: unknown, input: unknown, details?: InvokeDetails): Promise<unknown> => {
    const callId = details?.toolCall?.callId ?? '';
    const call = calls.get(callKey(gear.currentTask(), callId));
    if (call === undefined) return invoke?.(context, input, details);
    const { signal: ownSignal } = details ?? {};
    let isBack = false;
    try {
      const answer = await call.run(async (signal) => {
        // The SDK finds prepared inputs by this very object.
        if (details !== undefined) details.signal = joinSignals(signal, ownSignal);
        try {
          return await invoke?.(context, input, details);
        } finally {
          isBack = true;
        }
      });
      return 'refusal' in answer ? refusalText(answer.refusal) : answer.value;
    } catch (error) {
      if (isBack || ownSignal?.aborted) throw error;
      errors.set(callId, error);
      return `${hiddenError} Error: ${String(error)}`;
    }
  };
  return {
    ...tool,
    ...(invoke !== undefined && { invoke: invokeInTime }),
    inputGuardrails: [...inputGuardrails, inputGuardrail],
    outputGuardrails: [outputGuardrail, ...outputGuardrails],
    needsApproval: checkApproval,
  };
}

function parseArguments(text = '{}'): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
