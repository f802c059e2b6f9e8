/** Tool results of the relay's own: for a refused call, and for a call that got no answer. */

import { textForModel } from '../core/messages/model-text.ts';
import { type Refusal, refused } from '../core/refusal.ts';

/** What a result of our own must fit to. */
export interface ResultShape {
  /** Whether the request is of the protocol of 2026-07-28 or later, whose results have a type. */
  readonly isModern: boolean;
  /** Whether the tool declares the schema of its structured content, which a refusal would not fit. */
  readonly hasOutputSchema: boolean;
}

/** The advice after a trip. */
const openAdvice =
  'Before you call it again, ask the user, or check that its input is right: for example that the file exists.';

/**
 * A refusal as a tool result: text for the model, the five keys as structured content, data for code in `_meta`.
 * @param nowMs The time on the clock of the refusal, which the client does not know.
 */
export function makeRefusedResult(
  refusal: Refusal,
  { agent, session, nowMs }: { readonly agent: string; readonly session: string; readonly nowMs: number },
  shape: ResultShape,
): object {
  const { code, control, kind, counters, retryAtMs, task } = refusal;
  const text = code === 'circuit_open' ? `${textForModel(refusal)} ${openAdvice}` : textForModel(refusal);
  const retryAfterSecs = retryAtMs && Math.max(1, Math.ceil((retryAtMs - nowMs) / 1000));
  const facts = { code, control, kind, counters, ...(task && { task }), ...(retryAfterSecs && { retryAfterSecs }) };
  return {
    ...(shape.isModern && { resultType: 'complete' }),
    content: [{ type: 'text', text }],
    ...(!shape.hasOutputSchema && { structuredContent: refused(refusal, agent, session) }),
    isError: true,
    _meta: { switchgear: facts },
  };
}

/** The result of a call that was passed on and got no answer. */
export function makeLostResult(text: string, shape: ResultShape): object {
  return {
    ...(shape.isModern && { resultType: 'complete' }),
    content: [{ type: 'text', text }],
    isError: true,
  };
}

/** Why a message was not passed on, for the model or the client. */
export const reasons = {
  cannotJudge:
    'Switchgear cannot judge calls now, so it refused this one. Tell the user: stderr of the MCP server says why.',
  tooMany: 'Too many calls wait for their answers. Wait for some of them before the next one.',
  pending:
    'A person was asked to approve this call and has not answered yet. Call it again with the same arguments to go on.',
  tooLong: 'the call has more than 16 MiB, too long to be judged, and was not passed on: send less',
  noAnswer: 'The MCP server sent a response without an answer to the request.',
  listTooLong: 'the list of tools is too long to be checked',
  ambiguous: 'the message can be read in more than one way, so it was not passed on: write each member once, as JSON',
  batch: 'a call of this batch was refused or has to wait: send each message by itself',
} as const;
