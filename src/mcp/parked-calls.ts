/**
 * Calls that wait for a person while their client does not: it got an answer that says so, and calls again. The second
 * request continues the first one, so that the call is judged, asked about and counted once.
 */

import type { QuestionCard } from '../core/card.ts';
import type { Answer } from '../ports/approver.ts';
import type { Clock } from '../ports/clock.ts';
import { readFormAnswer, requestForm } from './elicitation.ts';
import {
  errorCodes,
  isRawNumber,
  makeErrorLine,
  makeResultLine,
  parseExactly,
  type RpcMessage,
  readObject,
} from './message.ts';
import { type CallRequest, makeCallRequest, type PendingRequests } from './pending-requests.ts';
import { reasons } from './refused-result.ts';

/** How long a call is held before its client, which may wait for 60 s, is told to call again. */
const holdMs = 50_000;
/** Calls of a session that wait for a person while their client does not, and how long a decided one is kept. */
const parkedMax = 100;
const parkedKeepMs = 120_000;
/** Calls of a session to which the server answered with a question of its own. */
const continuedMax = 1_000;

interface ParkedCall {
  readonly pending: CallRequest;
  /** The state that a client sends back, which nobody can guess. Absent if any equal call continues this one. */
  readonly state: string | undefined;
  /** Takes the answer of the person at the client. */
  readonly answer: ((responses: RpcMessage) => void) | undefined;
  /** Called when the client has called again, while the person has not answered. */
  readonly onTaken?: () => void;
  /** The result of a call that was refused meanwhile. */
  result?: object;
  cancelTimer?: () => void;
}

export class ParkedCalls {
  readonly #pending: PendingRequests;
  readonly #ports: { toClient(line: Buffer): void; toServer(line: Buffer): void };
  readonly #parked = new Set<ParkedCall>();
  /** Calls that the server answered with a question of its own: their continuation is not counted again. */
  readonly #continued = new Set<string>();

  constructor(pending: PendingRequests, ports: { toClient(line: Buffer): void; toServer(line: Buffer): void }) {
    this.#pending = pending;
    this.#ports = ports;
  }

  /** Asks the person at a client of 2026-07-28 or later: by a result that asks for input. */
  ask(pending: CallRequest, card: QuestionCard): Promise<Answer> {
    const state = `${statePrefix}${crypto.randomUUID()}`;
    return new Promise((resolve, reject) => {
      const answer = (responses: RpcMessage) => {
        const approved = readFormAnswer(responses[formName]);
        if (approved === undefined) reject(new Error('the person at the client did not answer'));
        else resolve({ approved, by: 'the client (elicitation)' });
      };
      const request = { method: 'elicitation/create', params: requestForm(card) };
      const result = { resultType: 'input_required', inputRequests: { [formName]: request }, requestState: state };
      if (!this.#park({ pending, state, answer }, result)) reject(new Error('too many questions'));
      const giveUp = () => reject(new Error('the client gave up the call'));
      pending.wait.signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Tells the client of a call that is held for a person to call again, before it gives up. */
  limitHold(pending: CallRequest, clock: Clock, makeResult: () => object): void {
    if (pending.call !== undefined || !this.#pending.has(pending)) return;
    const cancel = clock.after(holdMs, () => {
      if (pending.call !== undefined || !this.#pending.has(pending)) return;
      const onTaken = () => this.limitHold(pending, clock, makeResult);
      this.#park({ pending, state: undefined, answer: undefined, onTaken }, makeResult());
    });
    pending.wait.signal.addEventListener('abort', cancel, { once: true });
  }

  #park(parked: ParkedCall, result: object): boolean {
    const { pending } = parked;
    if (this.#parked.size >= parkedMax || pending.id === undefined || !this.#pending.has(pending)) return false;
    this.#pending.remove(pending);
    this.#parked.add(parked);
    this.#ports.toClient(makeResultLine(pending.id, result));
    return true;
  }

  /** Keeps the result of a parked call for the next request; false if the call is not parked. */
  keepResult(pending: CallRequest, result: object, clock: Clock): boolean {
    const parked = this.#find(pending);
    if (parked === undefined) return false;
    parked.result = result;
    this.#forgetLater(parked, clock);
    return true;
  }

  /** Keeps a parked call that may begin until its client asks for it again; false if the call is not parked. */
  keepCall(pending: CallRequest, clock: Clock): boolean {
    const parked = this.#find(pending);
    if (parked !== undefined) this.#forgetLater(parked, clock);
    return parked !== undefined;
  }

  #find(pending: CallRequest): ParkedCall | undefined {
    if (this.#parked.size === 0) return undefined;
    return [...this.#parked].find((parked) => parked.pending === pending);
  }

  #forgetLater(parked: ParkedCall, clock: Clock): void {
    parked.cancelTimer = clock.after(parkedKeepMs, () => this.#forget(parked));
  }

  #forget(parked: ParkedCall): void {
    this.#parked.delete(parked);
    parked.cancelTimer?.();
    parked.pending.wait.abort();
    parked.pending.call?.cancel();
  }

  forgetAll(): void {
    for (const parked of this.#parked) this.#forget(parked);
  }

  /**
   * Reads a call that may continue a parked one. Returns `continued` if it does; the line for the server without our
   * state, where that state is not valid any more; or undefined.
   */
  take(message: RpcMessage, line: Buffer): 'continued' | Buffer | undefined {
    const params = readObject(message.params);
    const state = params?.requestState;
    const isOurs = typeof state === 'string' && state.startsWith(statePrefix);
    if (this.#parked.size === 0 && !isOurs) return undefined;
    const request = makeCallRequest(message, line);
    const found = this.#findEqual(request, isOurs ? state : undefined, line);
    if (found === undefined || request.id === undefined) return isOurs ? this.#withoutState(request, line) : undefined;
    this.#parked.delete(found);
    found.cancelTimer?.();
    const { pending } = found;
    // The server sees the call that was judged, also where it would read the second one in another way; with the state
    // and the answers of its own questions, if the first request had them.
    pending.line = rewrite(pending.line!, line);
    pending.id = request.id;
    pending.progressToken = request.progressToken;
    this.#continue(found, readObject(params?.inputResponses) ?? {});
    return 'continued';
  }

  /** Whether a call of the client continues one of this session. */
  isContinued(message: RpcMessage, line: Buffer): boolean {
    if (this.#parked.size === 0 && this.#continued.size === 0) return false;
    const { requestState, inputResponses } = readObject(message.params) ?? {};
    const isOurs = typeof requestState === 'string' && requestState.startsWith(statePrefix);
    const request = makeCallRequest(message, line);
    if (this.#findEqual(request, isOurs ? requestState : undefined, line) !== undefined) return true;
    if (isOurs || (inputResponses === undefined && requestState === undefined)) return false;
    return this.#continued.has(subjectOf(request));
  }

  /** Whether a later request may continue a call of this session. */
  get isExpecting(): boolean {
    return this.#parked.size > 0 || this.#continued.size > 0;
  }

  /** The parked call with exactly the same tool and arguments, in numbers of any size, too. */
  #findEqual(request: CallRequest, state: string | undefined, line: Buffer): ParkedCall | undefined {
    let exact: string | undefined;
    return [...this.#parked].find((parked) => {
      const { pending } = parked;
      if (parked.state !== state || pending.tool !== request.tool || pending.line === undefined) return false;
      exact ??= exactSubjectOf(line);
      return exactSubjectOf(pending.line) === exact;
    });
  }

  /** The line of a call without our state; one that is nested too deep is not passed on. */
  #withoutState({ id }: CallRequest, line: Buffer): 'continued' | Buffer {
    try {
      return rewrite(line, line);
    } catch {
      if (id !== undefined) this.#ports.toClient(makeErrorLine(id, errorCodes.tooLong, reasons.tooLong));
      return 'continued';
    }
  }

  #continue({ pending, result, answer, onTaken }: ParkedCall, responses: RpcMessage): void {
    const { id, line } = pending;
    if (result !== undefined) {
      this.#ports.toClient(makeResultLine(id!, result));
      return;
    }
    this.#pending.add(pending);
    if (pending.call !== undefined && line !== undefined) {
      pending.line = undefined;
      this.#ports.toServer(line);
    } else {
      onTaken?.();
      answer?.(responses);
    }
  }

  /** Notes that the server asks for input: the next equal call with an answer continues this one. */
  expectContinuation(pending: CallRequest): void {
    if (this.#continued.size >= continuedMax) this.#continued.clear();
    this.#continued.add(subjectOf(pending));
  }

  /** Whether a call continues one that the server answered with a question. */
  isContinuation(pending: CallRequest, message: RpcMessage): boolean {
    if (this.#continued.size === 0) return false;
    const { inputResponses, requestState } = readObject(message.params) ?? {};
    if (inputResponses === undefined && requestState === undefined) return false;
    return this.#continued.delete(subjectOf(pending));
  }
}

const statePrefix = 'switchgear-';
const formName = 'switchgear_approval';

/** The tool and the arguments of a call. */
function subjectOf({ tool, input }: CallRequest): string {
  try {
    return writeSorted([tool, input]);
  } catch {
    return `nested too deep: ${crypto.randomUUID()}`; // Equal to no other.
  }
}

/** The tool and the arguments of a call in a line, with numbers as they were written. */
function exactSubjectOf(line: Buffer): string {
  try {
    const params = readObject(readObject(parseExactly(line))?.params);
    return writeSorted([String(params?.name), params?.arguments ?? {}]);
  } catch {
    return `nested too deep: ${crypto.randomUUID()}`; // Equal to no other.
  }
}

function writeSorted(subject: readonly unknown[]): string {
  return JSON.stringify(subject, (_name, value: unknown) => {
    const object = readObject(value);
    if (object === undefined || isRawNumber(value)) return value;
    return Object.fromEntries(Object.entries(object).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}

/** Writes a request again with the id and the metadata of another one, and without our state. */
function rewrite(line: Buffer, other: Buffer): Buffer {
  const exact = parseExactly(line) as RpcMessage;
  const { id, params } = parseExactly(other) as RpcMessage;
  const own = readObject(exact.params) ?? {};
  const { inputResponses, requestState, ...rest } = own;
  const isOurs = typeof requestState === 'string' && requestState.startsWith(statePrefix);
  const meta = readObject(params)?._meta;
  const written = { ...(isOurs ? rest : own), ...(meta !== undefined && { _meta: meta }) };
  return Buffer.from(`${JSON.stringify({ ...exact, id, params: written })}\n`);
}
