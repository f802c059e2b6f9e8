/** How a person is asked in the AI SDK: by the approval of a tool, or of the whole call where there is one already. */

import { mayAsk, wouldAsk } from '../../guard/entries/host-call.ts';
import type { AiSdkRuns } from './runs.ts';

type Status = string | { readonly type?: string } | undefined;

interface ApprovalRequest {
  readonly toolCall: { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };
}

/** Whether a rule wants a call confirmed by whoever answers to the SDK. Its run stands still until then. */
export function mustAsk(runs: AiSdkRuns, name: string, input: unknown, id = ''): boolean {
  if (!mayAsk(runs.gear)) return false;
  const run = runs.runForCall(id);
  const task = run.beginCall();
  try {
    const isAsked = wouldAsk(run.gear, name, [input], { id, task });
    if (isAsked) run.awaitApproval(task);
    return isAsked;
  } finally {
    run.endCall(task);
  }
}

/** The call's own `toolApproval`: the SDK asks it instead of the tools, past what a rule wants confirmed. */
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

/** Whether the conversation holds a person's yes to a call; the SDK runs none that was asked about without it. */
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
