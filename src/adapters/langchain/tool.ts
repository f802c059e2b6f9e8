/** Shared by guarded tools of LangChain and LangGraph: asking a person, and making a message of a refusal. */

import type { Task } from '../../guard/api.ts';
import type { HostCall } from '../../guard/entries/host-call.ts';
import type { Answer } from '../../ports/approver.ts';
import { fallbackText } from '../host/host-run.ts';
import { type LangChainRuntime, loadMessageClasses, type ToolCallLike } from './shapes.ts';

/** Asks by an interrupt, like LangChain's own middleware. Without a checkpointer it cannot ask. */
export function askByInterrupt(
  { name, args }: ToolCallLike,
  runtime: LangChainRuntime,
  onWait: () => void,
): HostCall['ask'] {
  const { interrupt, configurable } = runtime;
  if (interrupt === undefined || configurable?.__pregel_checkpointer === undefined) return undefined;
  return (question, [asked = args]): Answer => {
    onWait();
    const answer = interrupt({
      actionRequests: [{ name, args: asked, description: question }],
      reviewConfigs: [{ actionName: name, allowedDecisions: ['approve', 'edit', 'reject'] }],
    });
    const { decisions } = (answer ?? {}) as { readonly decisions?: readonly Decision[] };
    const [decision] = decisions ?? [];
    if (decision?.type === 'edit') return readEdit(name, decision);
    return { approved: isApproval(decision?.type ?? answer), by: 'the user' };
  };
}

/** A decision as LangChain's own middleware reads it. */
interface Decision {
  readonly type?: unknown;
  readonly editedAction?: { readonly name?: unknown; readonly args?: unknown };
}

/** An approval with other arguments. Another tool is another call, which nobody was asked about. */
function readEdit(name: string, { editedAction = {} }: Decision): Answer {
  const isSameTool = editedAction.name === undefined || editedAction.name === name;
  const isEdited = isSameTool && editedAction.args !== undefined;
  return isEdited ? { approved: true, by: 'the user', args: [editedAction.args] } : { approved: false, by: 'the user' };
}

/** The result of a fallback as a tool message, unless it is one. */
export async function makeFallbackMessage({ id, name }: ToolCallLike, value: unknown): Promise<unknown> {
  if ((value as { readonly tool_call_id?: unknown } | null | undefined)?.tool_call_id !== undefined) return value;
  const { ToolMessage } = await loadMessageClasses();
  return new ToolMessage({ content: fallbackText(value), name, tool_call_id: id });
}

/** A tool message with the refusal instead of a result. */
export async function makeRefusedMessage({ id, name }: ToolCallLike, content: string): Promise<unknown> {
  const { ToolMessage } = await loadMessageClasses();
  return new ToolMessage({ content, name, tool_call_id: id, status: 'error' });
}

/** Whether an error is control flow of the graph, such as an interrupt. */
export function isBubbleUp(error: unknown): boolean {
  return (error as { readonly is_bubble_up?: unknown } | null | undefined)?.is_bubble_up === true;
}

/** Whether the value that resumed a graph is an approval, in any of its forms. */
export function isApproval(answer: unknown): boolean {
  return answer === true || /^(yes|approve)$/i.test(String(answer));
}

/** Appends the pending loop hint of the task to a tool result. */
export function appendLoopHint(value: unknown, task: Task | undefined): unknown {
  const message = value as { content?: unknown } | null | undefined;
  if (typeof message?.content !== 'string') return value;
  const hint = task?.hint();
  if (hint !== undefined) message.content += `\n\n[switchgear] ${hint}`;
  return value;
}
