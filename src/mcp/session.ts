/**
 * The session of one client with one server: reads the messages of both, has calls judged, and settles them by their
 * answers. All other messages pass unchanged.
 */

import type { Refusal } from '../core/refusal.ts';
import { Elicitation, type SessionClient } from './elicitation.ts';
import { type Envelope, isSurelyNoCall } from './envelope.ts';
import { Handshake } from './handshake.ts';
import { type Judge, settleAnswer, settleLost, settleTimedOut } from './judge.ts';
import { callBytesMax, parseBytesMax, pendingMax, readBytesMax } from './limits.ts';
import type { LineReader, LineVerdict } from './line-relay.ts';
import {
  errorCodes,
  isModern,
  listTools,
  makeCancelLine,
  makeErrorLine,
  makeResultLine,
  normalizeId,
  parseLine,
  type RpcMessage,
  readClientName,
  readHostId,
  readId,
  readObject,
  scanLine,
} from './message.ts';
import { type CallRequest, PendingRequests } from './pending-requests.ts';
import { makeLostResult, type ResultShape, reasons } from './refused-result.ts';

/** The two ends of a session, and its judge. */
export interface SessionPorts {
  toClient(line: Buffer): void;
  toServer(line: Buffer): void;
  /** Opens the judge; called once, when the session is about to use tools. */
  openJudge(client: SessionClient): Promise<Judge>;
  /** Reports that no call can be judged; every call is refused from now on. */
  onJudgeFailed(error: unknown): void;
}

/** Why a client gave up a call: its own time limit, as the official clients write it. */
const timeoutReason = /\btime[d -]*out\b/i;

export class Session {
  readonly fromClient: LineReader;
  readonly fromServer: LineReader;
  readonly #ports: SessionPorts;
  readonly #pending = new PendingRequests();
  readonly handshake = new Handshake();
  readonly #elicitation: Elicitation;
  /** Answers of the server so far. */
  answers = 0;
  readonly #toolsWithOutputSchema = new Set<string>();
  #judge: Judge | undefined;
  /** The name of the client, as it gave it. */
  #client: string | undefined;
  #opening: Promise<Judge | undefined> | undefined;

  constructor(ports: SessionPorts) {
    this.#ports = ports;
    this.#elicitation = new Elicitation(ports.toClient);
    this.fromClient = {
      isReading: true,
      bytesMax: callBytesMax,
      readLine: (line) => this.#readClientLine(line),
      readLongLine: (envelope) => (isSurelyNoCall(envelope) ? 'pass' : 'drop'),
      mayGoOn: isSurelyNoCall,
      endLongLine: (envelope, verdict) => this.#endLongRequest(envelope, verdict),
    };
    const hasPending = () => this.#pending.size > 0 || this.handshake.isRepeating;
    this.fromServer = {
      get isReading() {
        return hasPending();
      },
      bytesMax: readBytesMax,
      readLine: (line) => this.#readServerLine(line),
      readLongLine: () => 'pass',
      mayGoOn: () => true,
      endLongLine: (envelope) => this.#endLongAnswer(envelope),
    };
  }

  /**
   * Settles and answers every request that the server will not answer. A loss counts once for the server.
   * @param isNew False for requests that came while the server was away; they say nothing about it.
   */
  loseServer(reason: string, isNew = true): void {
    let isCounted = !isNew;
    for (const pending of this.#pending.list()) {
      if (pending.kind === 'request') {
        this.#pending.remove(pending);
        this.#ports.toClient(makeErrorLine(pending.id, errorCodes.serverLost, reason));
      } else if (pending.call !== undefined) {
        this.#pending.remove(pending);
        if (isNew) settleLost(pending.call, reason, !isCounted && pending.isAnswered !== true);
        else pending.call.cancel();
        isCounted ||= pending.isAnswered !== true;
        if (pending.isAnswered !== true) this.#answerLost(pending, reason);
      }
    }
    if (!isCounted) this.#countLoss(reason);
  }

  /** Counts a server that ended or did not start as a failure of the server. */
  #countLoss(reason: string): void {
    const call = this.#judge?.upstream.admit();
    if (call !== undefined && 'settle' in call) call.settle('failed', reason);
  }

  /** How long no call would be passed to the server. */
  get refusedForMs(): number {
    return this.#judge?.refusedForMs() ?? 0;
  }

  /** Settles the calls of a client that is gone. */
  loseClient(): void {
    for (const pending of this.#pending.list()) {
      this.#pending.remove(pending);
      if (pending.kind !== 'call') continue;
      pending.controller.abort();
      pending.call?.cancel();
    }
  }

  #readClientLine(line: Buffer): LineVerdict {
    const message = parseLine(line);
    if (message === undefined) return 'pass';
    if (Array.isArray(message)) return this.#readBatch(message, line);
    return this.#readClientMessage(message as RpcMessage, line);
  }

  #readClientMessage(message: RpcMessage, line: Buffer): LineVerdict {
    const { method } = message;
    if (this.#judge === undefined) this.#client = readClientName(message) ?? this.#client;
    if (method === 'tools/call') return this.#readCall(message, line) ? 'pass' : 'drop';
    if (method === 'notifications/cancelled') return this.#readCancel(message) ? 'pass' : 'drop';
    if (method === 'notifications/initialized' || method === 'tools/list') this.#open();
    if (typeof method !== 'string') return this.#elicitation.readAnswer(message) ? 'drop' : 'pass';
    if (method === 'initialize') this.#elicitation.readHandshake(readObject(message.params));
    const id = readId(message, line);
    this.handshake.readRequest(message, id, line);
    if (id !== undefined) this.#pending.add({ kind: 'request', id, method });
    return 'pass';
  }

  /** Whether the call passes now. */
  #readCall(message: RpcMessage, line: Buffer): boolean {
    const pending = this.#makeCall(message, line);
    if (this.#pending.isFull) {
      this.#answerLost(pending, reasons.tooMany);
      return false;
    }
    this.#pending.add(pending);
    if (this.#judge !== undefined) {
      this.#decide(this.#judge, pending);
      if (pending.call !== undefined) return true;
      // Held or refused: the line may be a part of a larger buffer.
      pending.line = Buffer.from(line);
      return false;
    }
    pending.line = Buffer.from(line);
    void this.#open().then((judge) => {
      if (pending.controller.signal.aborted) return;
      if (judge === undefined) this.#answerLost(pending, reasons.cannotJudge);
      else this.#decide(judge, pending);
    });
    return false;
  }

  #makeCall(message: RpcMessage, line: Buffer): CallRequest {
    const params = readObject(message.params);
    const token = readObject(params?._meta)?.progressToken;
    const isToken = typeof token === 'string' || typeof token === 'number';
    return {
      kind: 'call',
      id: readId(message, line),
      hostId: readHostId(params),
      tool: String(params?.name),
      input: params?.arguments ?? {},
      isModern: isModern(params),
      progressToken: isToken ? JSON.stringify(token) : undefined,
      controller: new AbortController(),
    };
  }

  #decide(judge: Judge, pending: CallRequest): void {
    const { tool, input, hostId, controller } = pending;
    judge.judge({
      ...{ id: hostId, tool, input },
      signal: controller.signal,
      begin: (call) => {
        if (controller.signal.aborted) {
          call.cancel();
          return;
        }
        pending.call = call;
        const { line } = pending;
        pending.line = undefined;
        if (line !== undefined) this.#ports.toServer(line);
        // A call without an id has no answer to be settled by.
        if (pending.id !== undefined) return;
        call.cancel();
        this.#pending.remove(pending);
      },
      refuse: (refusal) => this.#answerRefused(judge, pending, refusal),
      giveUp: (error, halt) => this.#giveUp(judge, pending, error, halt),
    });
  }

  #answerRefused(judge: Judge, pending: CallRequest, refusal: Refusal): void {
    this.#pending.remove(pending);
    if (pending.controller.signal.aborted || pending.id === undefined) return;
    const result = judge.formatRefusal(refusal, this.#shapeOf(pending));
    this.#ports.toClient(makeResultLine(pending.id, result));
  }

  /** Answers a call that took too long or whose task was halted, and tells the server. */
  #giveUp(judge: Judge, pending: CallRequest, error: unknown, halt: Refusal | undefined): void {
    const { id } = pending;
    if (id === undefined || pending.isAnswered) return;
    pending.isAnswered = true;
    const reason = error instanceof Error ? error.message : String(error);
    const shape = this.#shapeOf(pending);
    const result = halt === undefined ? makeLostResult(`${reason}.`, shape) : judge.formatRefusal(halt, shape);
    this.#ports.toClient(makeResultLine(id, result));
    this.#ports.toServer(makeCancelLine(id, reason));
  }

  #answerLost(pending: CallRequest, reason: string): void {
    this.#pending.remove(pending);
    if (pending.id === undefined) return;
    this.#ports.toClient(makeResultLine(pending.id, makeLostResult(reason, this.#shapeOf(pending))));
  }

  #shapeOf({ isModern, tool }: CallRequest): ResultShape {
    return { isModern, hasOutputSchema: this.#toolsWithOutputSchema.has(tool) };
  }

  /** Whether the cancellation passes: the server does not know a call that is held. */
  #readCancel(message: RpcMessage): boolean {
    const { requestId, reason } = readObject(message.params) ?? {};
    const id = normalizeId(JSON.stringify(requestId));
    const pending = this.#pending.find(id);
    if (pending?.kind !== 'call') return true;
    this.#pending.remove(pending);
    pending.controller.abort();
    if (pending.call === undefined) return false;
    const text = typeof reason === 'string' ? reason : '';
    if (timeoutReason.test(text)) settleTimedOut(pending.call, text);
    else pending.call.cancel();
    return true;
  }

  /** A list of messages, as older versions of the protocol allow. It passes as it is if every call in it may pass. */
  #readBatch(messages: readonly unknown[], line: Buffer): LineVerdict {
    const objects = messages.map(readObject).filter((each) => each !== undefined);
    if (!objects.some(({ method }) => method === 'tools/call')) {
      for (const each of objects) this.#readClientMessage(each, line);
      return 'pass';
    }
    if (this.#judge !== undefined) return this.#decideBatch(this.#judge, objects, line) ? 'pass' : 'drop';
    const held = Buffer.from(line);
    void this.#open().then((judge) => {
      if (judge === undefined) this.#refuseBatch(objects, held);
      else if (this.#decideBatch(judge, objects, held)) this.#ports.toServer(held);
    });
    return 'drop';
  }

  #decideBatch(judge: Judge, objects: readonly RpcMessage[], line: Buffer): boolean {
    const calls: CallRequest[] = [];
    const others: RpcMessage[] = [];
    for (const each of objects) {
      if (each.method !== 'tools/call') {
        others.push(each);
        continue;
      }
      const pending = this.#makeCall(each, line);
      this.#pending.add(pending);
      this.#decide(judge, pending);
      calls.push(pending);
    }
    if (calls.every(({ call }) => call !== undefined)) {
      for (const each of others) this.#readClientMessage(each, line);
      return true;
    }
    for (const pending of calls) {
      const isOpen = this.#pending.has(pending);
      this.#pending.remove(pending);
      pending.controller.abort();
      pending.call?.cancel();
      if (isOpen) this.#ports.toClient(makeErrorLine(pending.id!, errorCodes.batchRefused, reasons.batch));
    }
    this.#refuseBatch(others, line);
    return false;
  }

  #refuseBatch(objects: readonly RpcMessage[], line: Buffer): void {
    for (const each of objects) {
      const id = typeof each.method === 'string' ? readId(each, line) : undefined;
      if (id !== undefined) this.#ports.toClient(makeErrorLine(id, errorCodes.batchRefused, reasons.batch));
    }
  }

  /** A request that was too long to be collected. */
  #endLongRequest(envelope: Envelope, verdict: 'pass' | 'drop'): void {
    const id = normalizeId(envelope.id);
    if (verdict === 'pass') {
      if (id !== undefined && envelope.method !== undefined)
        this.#pending.add({ kind: 'request', id, method: envelope.method });
    } else if (id !== undefined) this.#ports.toClient(makeErrorLine(id, errorCodes.tooLong, reasons.tooLong));
  }

  #readServerLine(line: Buffer): LineVerdict {
    if (line.length > parseBytesMax) {
      const envelope = scanLine(line);
      if (envelope.top === 'object' && !this.#isExpected(envelope)) return 'pass';
    }
    const message = parseLine(line);
    if (message === undefined) return 'pass';
    if (!Array.isArray(message)) return this.#readServerMessage(message as RpcMessage, line);
    for (const each of message) {
      const answer = readObject(each);
      if (answer !== undefined) this.#readServerMessage(answer, line); // The list passes as it is.
    }
    return 'pass';
  }

  #isExpected({ id, method }: Envelope): boolean {
    if (method !== undefined) return false;
    return this.#pending.find(normalizeId(id)) !== undefined || this.handshake.hasId(id);
  }

  #readServerMessage(message: RpcMessage, line: Buffer): LineVerdict {
    if (typeof message.method === 'string') {
      if (message.method === 'notifications/progress') this.#readProgress(message);
      return 'pass';
    }
    if (!this.handshake.readAnswer(message, line)) return 'drop';
    const id = readId(message, line);
    const pending = this.#pending.find(id);
    if (pending === undefined) return 'pass';
    this.answers++;
    this.#pending.remove(pending);
    if (pending.kind === 'call') return this.#readAnswer(pending, message, line);
    if (pending.method === 'tools/list') this.#readTools(message);
    return 'pass';
  }

  #readAnswer(pending: CallRequest, message: RpcMessage, line: Buffer): LineVerdict {
    if (pending.call === undefined) return 'pass';
    const result = settleAnswer(pending.call, message);
    if (pending.isAnswered) return 'drop';
    if (message.error !== undefined || result === message.result) return 'pass';
    // A hint for the model is added only where writing the message again changes nothing else.
    if (JSON.stringify(message) !== line.toString('utf8').trimEnd()) return 'pass';
    return Buffer.from(`${JSON.stringify({ ...message, result })}\n`);
  }

  /** A result that was too long to be read as a whole counts by its flag. */
  #endLongAnswer(envelope: Envelope): void {
    const id = normalizeId(envelope.id);
    const pending = envelope.method === undefined ? this.#pending.find(id) : undefined;
    if (pending === undefined) return;
    this.#pending.remove(pending);
    if (pending.kind !== 'call' || pending.call === undefined) return;
    const { isError, resultType, hasError } = envelope;
    if (hasError) settleAnswer(pending.call, { error: { message: 'an error that is too long to be read' } });
    else settleAnswer(pending.call, { result: { isError, ...(resultType && { resultType }) } });
  }

  #readTools({ result }: RpcMessage): void {
    for (const { name, outputSchema } of listTools(result)) {
      if (outputSchema !== undefined && this.#toolsWithOutputSchema.size < pendingMax)
        this.#toolsWithOutputSchema.add(String(name));
    }
  }

  #readProgress(message: RpcMessage): void {
    const token = readObject(message.params)?.progressToken;
    this.#pending.findByProgressToken(JSON.stringify(token) ?? '')?.call?.progress();
  }

  #open(): Promise<Judge | undefined> {
    this.#opening ??= this.#ports.openJudge({ name: this.#client, approver: this.#elicitation.approver }).then(
      (judge) => {
        this.#judge = judge;
        return judge;
      },
      (error: unknown) => {
        this.#ports.onJudgeFailed(error);
        return undefined;
      },
    );
    return this.#opening;
  }
}
