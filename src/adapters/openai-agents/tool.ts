/** Guards a tool of the OpenAI Agents SDK by two guardrails: one decides before the call, one settles it afterwards. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { joinSignals, wouldAsk } from '../../guard/entries/host-call.ts';
import { beginHostCall, type OpenCall, type RefusedOpening } from '../../guard/entries/open-call.ts';
import { type FallbackOptions, fallbackOf, fallbackText, refusalText, turnOf } from '../host/host-run.ts';
import { openWorker } from '../host/open-worker.ts';

/** Running calls by task, tool, id and arguments: some providers use the same ids in every run, or for all calls. */
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
  readonly toolCall?: ToolCallLike;
  signal?: AbortSignal;
}

interface ToolCallLike {
  readonly callId?: string;
  readonly arguments?: string;
}

interface GuardrailInput {
  readonly toolCall: ToolCallLike & { readonly callId: string };
  readonly output?: unknown;
}

/** A key of a call: its id and arguments. */
export function keyOfToolCall({ callId = '', arguments: args = '' }: ToolCallLike = {}): string {
  return `${callId} ${args}`;
}

/** The shared state of the tools of a runner. */
export interface RunnerContext extends FallbackOptions {
  readonly gear: Switchgear;
  readonly calls: OpenCalls;
  /** Errors reported by protected tools, by `keyOfToolCall`. */
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
  const approvalKey = (task: Task | undefined, callId: string) => `${task?.id} ${name} ${callId}`;
  const callKey = (task: Task | undefined, toolCall: ToolCallLike | undefined) =>
    `${task?.id} ${name} ${keyOfToolCall(toolCall)}`;

  const inputGuardrail = {
    type: 'tool_input',
    name: 'switchgear',
    async run({ toolCall }: GuardrailInput) {
      const { callId } = toolCall;
      const task = gear.currentTask();
      const key = callKey(task, toolCall);
      if (calls.has(key)) return allow; // The SDK runs the guardrail twice, before and after an approval.
      const input = parseArguments(toolCall.arguments);
      const ask = () => ({ approved: pendingApprovals.delete(approvalKey(task, callId)), by: 'the user' });
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
  const findHiddenError = (output: unknown, errorKey: string): unknown =>
    errors.get(errorKey) ?? (output === hiddenError ? sdkError : undefined);

  const outputGuardrail = {
    type: 'tool_output',
    name: 'switchgear',
    async run({ toolCall, output }: GuardrailInput) {
      const errorKey = keyOfToolCall(toolCall);
      const error = findHiddenError(output, errorKey);
      errors.delete(errorKey);
      const key = callKey(gear.currentTask(), toolCall);
      calls.get(key)?.settle(error === undefined ? { value: output } : { error });
      calls.delete(key);
      return allow;
    },
  };

  const checkApproval = async (context: unknown, input: unknown, callId = '') => {
    if (!wouldAsk(gear, name, [input], { id: callId }, true))
      return (await needsApproval?.(context, input, callId)) ?? false;
    pendingApprovals.add(approvalKey(gear.currentTask(), callId));
    return true;
  };
  /** Runs the tool until it ends, times out or its run halts; the model gets the reason. */
  const invokeInTime = async (context: unknown, input: unknown, details?: InvokeDetails): Promise<unknown> => {
    const call = calls.get(callKey(gear.currentTask(), details?.toolCall));
    if (call === undefined) return invoke?.(context, input, details);
    const { signal: ownSignal } = details ?? {};
    const errorKey = keyOfToolCall(details?.toolCall);
    const [args] = call.args;
    const isEdited = args !== call.input;
    let shown: unknown;
    let isBack = false;
    try {
      const answer = await call.run(async (signal) => {
        isBack = false;
        errors.delete(errorKey);
        // The SDK finds prepared inputs by this very object; edited ones are read from the text.
        const own = isEdited ? { ...details } : details;
        if (own !== undefined) own.signal = joinSignals(signal, ownSignal);
        try {
          shown = await invoke?.(context, isEdited ? JSON.stringify(args) : input, own);
        } finally {
          isBack = true;
        }
        const hidden = findHiddenError(shown, errorKey);
        if (hidden !== undefined) throw hidden;
        return shown;
      });
      if ('refusal' in answer) return refusalText(answer.refusal);
      errors.delete(errorKey);
      return answer.value;
    } catch (error) {
      // The SDK has turned the error of the tool into a text.
      if (isBack && shown !== undefined && findHiddenError(shown, errorKey) === error) return shown;
      if (isBack || ownSignal?.aborted) throw error;
      errors.set(errorKey, error);
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
