/** Guards a tool of the OpenAI Agents SDK by two guardrails: one decides before the call, one settles it afterwards. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { joinSignals, wouldAsk } from '../../guard/entries/host-call.ts';
import { beginHostCall, type OpenCall, type RefusedOpening } from '../../guard/entries/open-call.ts';
import { type FallbackOptions, fallbackOf, fallbackText, refusalText, turnOf } from '../host/host-run.ts';
import { openWorker } from '../host/open-worker.ts';

/** Running calls by task, tool and id: some providers use the same call ids in every run. */
export type OpenCalls = Map<
  string,
  Omit<OpenCall, 'refusal'> & { readonly task: Task | undefined; readonly input: unknown }
>;

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
export interface RunnerContext extends FallbackOptions {
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
const sdkError = new Error(hiddenError);
const allow = { behavior: { type: 'allow' } };

export function guardTool(tool: object, { gear, calls, errors, signals, workers, ...options }: RunnerContext): object {
  const { type, name: toolName, inputGuardrails = [], outputGuardrails = [], needsApproval, invoke } = tool as ToolLike;
  if (type !== 'function') return tool; // The provider runs this tool.
  const name = String(toolName);
  const fallback = fallbackOf(options, name);
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
              {
                id: callId,
                task,
                turnId: task && turnOf(task),
                signal: task && signals.get(task),
                ask,
                canEdit: invoke !== undefined,
                fallback,
              },
              true,
            );
      if (answer.refusal !== undefined) {
        const { instead } = answer as RefusedOpening;
        const message = instead === undefined ? refusalText(answer.refusal) : fallbackText(instead.value);
        return { behavior: { type: 'rejectContent', message } };
      }
      calls.set(key, { task, input, args: answer.args, settle: answer.settle, run: answer.run });
      return allow;
    },
  };

  /** The error behind a result: that of a protected tool, or one that the SDK hides. */
  const findHiddenError = (output: unknown, callId: string): unknown =>
    errors.get(callId) ?? (output === hiddenError ? sdkError : undefined);

  const outputGuardrail = {
    type: 'tool_output',
    name: 'switchgear',
    async run({ toolCall: { callId }, output }: GuardrailInput) {
      const error = findHiddenError(output, callId);
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
    const [args] = call.args;
    const isEdited = args !== call.input;
    let shown: unknown;
    let isBack = false;
    try {
      const answer = await call.run(async (signal) => {
        isBack = false;
        errors.delete(callId);
        // The SDK finds prepared inputs by this very object; edited ones are read from the text.
        const own = isEdited ? { ...details } : details;
        if (own !== undefined) own.signal = joinSignals(signal, ownSignal);
        try {
          shown = await invoke?.(context, isEdited ? JSON.stringify(args) : input, own);
        } finally {
          isBack = true;
        }
        const hidden = findHiddenError(shown, callId);
        if (hidden !== undefined) throw hidden;
        return shown;
      });
      if ('refusal' in answer) return refusalText(answer.refusal);
      errors.delete(callId);
      return answer.value;
    } catch (error) {
      // The SDK has turned the error of the tool into a text.
      if (isBack && shown !== undefined && findHiddenError(shown, callId) === error) return shown;
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
