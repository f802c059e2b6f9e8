/** Asks a person through the AI SDK: by `needsApproval` of the tool, or by `toolApproval` of the call if it has one. */

import { mayAsk, wouldAsk } from '../../guard/entries/host-call.ts';
import type { AiSdkRuns } from './runs.ts';

type Status = string | { readonly type?: string } | undefined;

interface ApprovalRequest {
  readonly toolCall: { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };
}

/** Whether a rule requires a confirmation of a call through the SDK. If so, the clocks of the run's task stop. */
export function mustAsk(runs: AiSdkRuns, name: string, input: unknown, id = ''): boolean {
  if (!mayAsk(runs.gear)) return false;
  const run = runs.runForCall(id);
  const task = run.beginCall();
  try {
    const isAsked = wouldAsk(run.gear, name, [input], { id, task }, true);
    if (isAsked) run.awaitApproval(task);
    return isAsked;
  } finally {
    run.endCall(task);
  }
}

/** Extends the `toolApproval` of a call with the rules: the SDK uses it instead of the approval of the tools. */
export function protectApproval(approval: unknown, runs: AiSdkRuns, isGuarded: (tool: string) => boolean): unknown {
  async function resolveStatus(
    name: string,
    input: unknown,
    id: string,
    ownStatus: Status | Promise<Status>,
  ): Promise<Status> {
    const status = await ownStatus;
    const kind = typeof status === 'object' ? status.type : status;
    if (kind === 'denied' || !isGuarded(name) || !mustAsk(runs, name, input, id)) return status;
    return kind === 'user-approval' ? status : 'user-approval';
  }

  if (typeof approval === 'function') {
    return (request: ApprovalRequest) => {
      const { toolName, toolCallId, input } = request.toolCall;
      return resolveStatus(toolName, input, toolCallId, approval(request));
    };
  }
  const perTool = Object.entries((approval ?? {}) as object).map(([name, ownStatus]) => [
    name,
    (input: unknown, options: { readonly toolCallId: string }) =>
      resolveStatus(
        name,
        input,
        options.toolCallId,
        typeof ownStatus === 'function' ? ownStatus(input, options) : ownStatus,
      ),
  ]);
  return Object.fromEntries(perTool);
}

/** Whether the messages contain an approval of a call. The SDK does not run a call that needs one without it. */
export function wasApproved(messages: readonly unknown[] = [], id: string | undefined): boolean {
  const parts = messages.flatMap((message) => {
    const content = (message as { readonly content?: unknown } | null)?.content;
    return Array.isArray(content) ? (content as Readonly<Record<string, unknown>>[]) : [];
  });
  const request = parts.findLast((part) => part?.type === 'tool-approval-request' && part.toolCallId === id);
  const isYes = (part: Readonly<Record<string, unknown>>) =>
    part?.type === 'tool-approval-response' && part.approvalId === request?.approvalId && part.approved === true;
  return request !== undefined && parts.some(isYes);
}
