/** What guarded tools of LangChain and LangGraph have in common: how a person is asked and how a refusal is told. */

import type { Task } from '../../guard/api.ts';
import type { HostCall } from '../../guard/entries/host-call.ts';
import type { Answer } from '../../ports/approver.ts';
import { type LangChainRuntime, loadMessageClasses, type ToolCallLike } from './shapes.ts';

/** Asks by an interrupt, as LangChain's own middleware does; where a graph keeps nothing, nobody can be asked. */
export function askByInterrupt(
  { name, args }: ToolCallLike,
  runtime: LangChainRuntime,
  onWait: () => void,
): HostCall['ask'] {
  const { interrupt, configurable } = runtime;
  if (interrupt === undefined || configurable?.__pregel_checkpointer === undefined) return undefined;
  return (question): Answer => {
    onWait();
    const answer = interrupt({
      actionRequests: [{ name, args, description: question }],
      reviewConfigs: [{ actionName: name, allowedDecisions: ['approve', 'reject'] }],
    });
    const { decisions } = (answer ?? {}) as { readonly decisions?: readonly { readonly type?: unknown }[] };
    return { approved: isApproval(decisions?.[0]?.type ?? answer), by: 'the user' };
  };
}

/** A message in the place of a result. */
export async function makeRefusedMessage({ id, name }: ToolCallLike, content: string): Promise<unknown> {
  const { ToolMessage } = await loadMessageClasses();
  return new ToolMessage({ content, name, tool_call_id: id, status: 'error' });
}

/** Whether an error is what a graph steers by. */
export function isBubbleUp(error: unknown): boolean {
  return (error as { readonly is_bubble_up?: unknown } | null | undefined)?.is_bubble_up === true;
}

/** Whether a person said yes, in the forms that resumed graphs get it. */
export function isApproval(answer: unknown): boolean {
  return answer === true || /^(yes|approve)$/i.test(String(answer));
}

/** What the model should be told before anything is refused, at the end of a result it reads. */
export function appendLoopHint(value: unknown, task: Task | undefined): unknown {
  const message = value as { content?: unknown } | null | undefined;
  if (typeof message?.content !== 'string') return value;
  const hint = task?.hint();
  if (hint !== undefined) message.content += `\n\n[switchgear] ${hint}`;
  return value;
}
