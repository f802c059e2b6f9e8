/** Own answers to calls: refused ones, those that took too long, and those that got no answer. */

import type { Refusal } from '../core/refusal.ts';
import type { Judge } from './judge.ts';
import { makeCancelLine, makeResultLine } from './message.ts';
import type { ParkedCalls } from './parked-calls.ts';
import type { CallRequest, PendingRequests } from './pending-requests.ts';
import { makeLostResult, type ResultShape, reasons } from './refused-result.ts';

export class CallAnswers {
  readonly #pending: PendingRequests;
  readonly #ports: { toClient(line: Buffer): void; toServer(line: Buffer): void };
  readonly #parked: ParkedCalls;
  readonly #withOutputSchema: ReadonlySet<string>;

  /** @param withOutputSchema Tools that declare the schema of their structured content. */
  constructor(
    pending: PendingRequests,
    ports: { toClient(line: Buffer): void; toServer(line: Buffer): void },
    parked: ParkedCalls,
    withOutputSchema: ReadonlySet<string>,
  ) {
    this.#pending = pending;
    this.#ports = ports;
    this.#parked = parked;
    this.#withOutputSchema = withOutputSchema;
  }

  refuse(judge: Judge, pending: CallRequest, refusal: Refusal): void {
    this.#pending.remove(pending);
    if (pending.wait.isAborted || pending.id === undefined) return;
    const result = judge.formatRefusal(refusal, this.#shapeOf(pending));
    if (!this.#parked.keepResult(pending, result, judge.clock))
      this.#ports.toClient(makeResultLine(pending.id, result));
  }

  /** Answers a call that took too long or whose task was halted, and tells the server. */
  giveUp(judge: Judge, pending: CallRequest, error: unknown, halt: Refusal | undefined): void {
    const { id } = pending;
    if (id === undefined || pending.isAnswered) return;
    const reason = error instanceof Error ? error.message : String(error);
    const shape = this.#shapeOf(pending);
    const result = halt === undefined ? makeLostResult(`${reason}.`, shape) : judge.formatRefusal(halt, shape);
    if (this.#parked.keepResult(pending, result, judge.clock)) return;
    pending.isAnswered = true;
    this.#ports.toClient(makeResultLine(id, result));
    this.#ports.toServer(makeCancelLine(id, reason));
  }

  /** Answers a call that was not passed on, or got no answer. */
  lose(pending: CallRequest, reason: string): void {
    this.#pending.remove(pending);
    if (pending.id === undefined) return;
    this.#ports.toClient(makeResultLine(pending.id, makeLostResult(reason, this.#shapeOf(pending))));
  }

  /** The result of a call that a person is asked about. */
  makePending(pending: CallRequest): object {
    return makeLostResult(reasons.pending, this.#shapeOf(pending));
  }

  #shapeOf({ isModern, tool }: CallRequest): ResultShape {
    return { isModern, hasOutputSchema: this.#withOutputSchema.has(tool) };
  }
}
