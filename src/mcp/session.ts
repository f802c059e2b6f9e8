/**
 * The session of one client with one server: reads the messages of both, has calls judged, and settles them by their
 * answers. All other messages pass unchanged.
 */

import type { RelayedCall } from '../guard/entries/relayed-call.ts';
import { Batches } from './batches.ts';
import { CallAnswers } from './call-answers.ts';
import { askByResult, Elicitation } from './elicitation.ts';
import { type Envelope, isSurelyNoCall, mayBeOtherCall } from './envelope.ts';
import { Handshake } from './handshake.ts';
import { type Judge, settleAnswer, settleLost, settleTimedOut } from './judge.ts';
import { callBytesMax, listBytesMax, parseBytesMax, readBytesMax } from './limits.ts';
import type { LineReader, LineVerdict } from './line-relay.ts';
import { ListAnswers } from './list-answers.ts';
import {
  errorCodes,
  isWholeAnswer,
  type MessageId,
  makeErrorLine,
  normalizeId,
  parseLine,
  type RpcMessage,
  readCancellation,
  readClientName,
  readId,
  readLine,
  readObject,
  readRequestIds,
  scanLine,
} from './message.ts';
import { OwnRequests } from './own-requests.ts';
import { ParkedCalls } from './parked-calls.ts';
import { type CallRequest, isList, makeCallRequest, type PendingRequest, PendingRequests } from './pending-requests.ts';
import { reasons } from './refused-result.ts';
import type { ServerHealth, WatchedSession } from './server-health.ts';
import type { SessionPorts } from './session-ports.ts';

export class Session {
  readonly fromClient: LineReader;
  readonly fromServer: LineReader;
  readonly #ports: SessionPorts;
  readonly #pending = new PendingRequests();
  readonly handshake = new Handshake();
  readonly #elicitation: Elicitation;
  /** Calls that a later request continues. */
  readonly parked: ParkedCalls;
  readonly #answers: CallAnswers;
  /** Answers of the server so far. */
  answers = 0;
  readonly #lists: ListAnswers;
  readonly #batches: Batches;
  /** Requests of our own to the server. */
  readonly #own: OwnRequests;
  #health: ServerHealth | undefined;
  #isModern = false;
  #judge: Judge | undefined;
  /** The name of the client, as it gave it. */
  #client: string | undefined;
  #opening: Promise<Judge | undefined> | undefined;

  constructor(ports: SessionPorts) {
    this.#ports = ports;
    this.parked = new ParkedCalls(this.#pending, ports);
    this.#elicitation = new Elicitation(ports.toClient);
    this.#lists = new ListAnswers(this.#pending, ports.toClient, {
      isAnnounced: () => this.handshake.announcesTools,
      open: () => this.#open(),
      readLine: (line) => this.#readServerLine(line),
      settle: (message, line) => this.#readServerMessage(message, line),
    });
    this.#answers = new CallAnswers(this.#pending, ports, this.parked, this.#lists.withOutputSchema);
    this.#own = new OwnRequests(ports.toServer);
    this.#batches = new Batches(this.#pending, ports, {
      judge: () => this.#judge,
      open: () => this.#open(),
      decide: (judge, pending) => this.#decide(judge, pending),
      readMessage: (message, line) => void this.#readClientMessage(message, line),
    });
    this.fromClient = {
      isReading: true,
      bytesMax: callBytesMax,
      readLine: (line) => this.#readClientLine(line),
      readLongLine: (envelope) => (isSurelyNoCall(envelope) ? 'pass' : 'drop'),
      mayGoOn: isSurelyNoCall,
      endLongLine: (envelope, verdict) => this.#endLongRequest(envelope, verdict),
    };
    const hasPending = () => this.#pending.size > 0 || this.handshake.isRepeating || this.#own.isWaiting;
    const bytesMax = () => (this.#pending.lists > 0 ? listBytesMax : readBytesMax);
    this.fromServer = {
      get isReading() {
        return hasPending();
      },
      get bytesMax() {
        return bytesMax();
      },
      readLine: (line) => this.#readServerLine(line),
      readLongLine: (envelope) => (this.#lists.isLimited(envelope) ? 'drop' : 'pass'),
      mayGoOn: (envelope) => envelope.id === undefined || !this.#lists.isLimited(envelope),
      endLongLine: (envelope, verdict) => this.#endLongAnswer(envelope, verdict),
    };
  }

  /**
   * Settles and answers every request that the server will not answer. A loss counts once for the server.
   * @param isNew False for requests that came while the server was away; they say nothing about it.
   */
  loseServer(reason: string, isNew = true): void {
    let isCounted = !isNew;
    this.#health?.forget();
    for (const pending of this.#pending.list()) {
      if (pending.kind === 'call' && pending.call === undefined) continue;
      this.#lose(pending, reason, isNew, !isCounted);
      isCounted ||= pending.kind === 'call' && pending.isAnswered !== true;
    }
    if (!isCounted) this.#countLoss(reason);
  }

  /** Settles and answers one request that did not reach the server, or got no answer. */
  loseRequest(id: MessageId, reason: string, isServersFault: boolean): void {
    const pending = this.#pending.find(id);
    if (pending === undefined) return;
    this.#lose(pending, reason, isServersFault, isServersFault);
    if (pending.kind === 'request' && isServersFault) this.#countLoss(reason);
  }

  #lose(pending: PendingRequest, reason: string, isFailure: boolean, countsForServer: boolean): void {
    this.#pending.remove(pending);
    if (pending.kind === 'call') {
      const { call, isAnswered = false } = pending;
      if (isFailure && call !== undefined) settleLost(call, reason, countsForServer && !isAnswered);
      else call?.cancel();
      if (!isAnswered) this.#answers.lose(pending, reason);
    } else this.#ports.toClient(makeErrorLine(pending.id, errorCodes.serverLost, reason));
  }

  #countLoss(reason: string): void {
    const call = this.#judge?.upstream.admit();
    if (call !== undefined && 'settle' in call) call.settle('failed', reason);
  }

  /** Compares a server that was started again with the one before: its introduction and its tools. */
  readRestart(): void {
    const { change } = this.handshake;
    if (change !== undefined) this.#judge?.tools.pins?.reportRestart(...change);
    if (this.#lists.isUsed && this.handshake.isDone) this.#lists.readAgain(this.#own);
  }

  get #watched(): WatchedSession {
    return {
      mayPing: () => this.handshake.isEstablished && !this.#isModern,
      hasOpenCall: () => this.#pending.calls > 0,
      ping: (onAnswer) => this.#own.send('ping', {}, onAnswer),
      report: (line) => this.#ports.report?.(line),
    };
  }

  /** How long no call would be passed to the server. */
  get refusedForMs(): number {
    return this.#judge?.refusedForMs() ?? 0;
  }

  /** Resolves when the judge was opened, if it is being opened, and the calls that waited for it were judged. */
  get opening(): Promise<unknown> | undefined {
    return this.#opening;
  }

  /** Settles the calls of a client that is gone. */
  loseClient(): void {
    this.parked.forgetAll();
    for (const pending of this.#pending.list()) {
      this.#pending.remove(pending);
      if (pending.kind !== 'call') continue;
      pending.wait.abort();
      pending.call?.cancel();
    }
  }

  #readClientLine(line: Buffer): LineVerdict {
    const { text, message } = readLine(line);
    if (mayBeOtherCall(message, text, line)) {
      const ids = Array.isArray(message) ? readRequestIds(message, line) : [normalizeId(scanLine(line).id)];
      for (const id of ids)
        if (id !== undefined) this.#ports.toClient(makeErrorLine(id, errorCodes.notJudged, reasons.ambiguous));
      return 'drop';
    }
    if (message === undefined) return 'pass';
    if (Array.isArray(message)) return this.#batches.read(message, line);
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
    if (id === undefined) return 'pass';
    if (method === 'tools/list' && this.#pending.isFull) {
      this.#ports.toClient(makeErrorLine(id, errorCodes.notJudged, reasons.tooMany));
      return 'drop';
    }
    this.#pending.add({ kind: 'request', id, method, isFirstPage: readObject(message.params)?.cursor === undefined });
    return 'pass';
  }

  /** Whether the call passes now. */
  #readCall(message: RpcMessage, line: Buffer): boolean {
    const taken = this.parked.take(message, line);
    if (taken === 'continued') return false;
    const ownLine = taken ?? line;
    const pending = makeCallRequest(message, line);
    pending.isContinued = this.parked.isContinuation(pending, message);
    if (this.#pending.isFull) {
      this.#answers.lose(pending, reasons.tooMany);
      return false;
    }
    this.#pending.add(pending);
    if (this.#judge !== undefined) {
      this.#decide(this.#judge, pending);
      if (pending.call !== undefined) {
        if (ownLine === line) return true;
        this.#ports.toServer(ownLine);
        return false;
      }
      // Held or refused: the line may be a part of a larger buffer.
      pending.line = Buffer.from(ownLine);
      this.#limitHold(this.#judge, pending);
      return false;
    }
    pending.line = Buffer.from(ownLine);
    void this.#open().then((judge) => {
      if (pending.wait.isAborted) return;
      if (judge === undefined) this.#answers.lose(pending, reasons.cannotJudge);
      else {
        this.#decide(judge, pending);
        this.#limitHold(judge, pending);
      }
    });
    return false;
  }

  #limitHold(judge: Judge, pending: CallRequest): void {
    this.parked.limitHold(pending, judge.clock, () => this.#answers.makePending(pending));
  }

  #decide(judge: Judge, pending: CallRequest): void {
    const judgeCall = () => this.#judgeCall(judge, pending);
    if (!pending.isModern || !pending.canAsk) judgeCall();
    else askByResult.run((card) => this.parked.ask(pending, card), judgeCall);
  }

  #judgeCall(judge: Judge, pending: CallRequest): void {
    judge.judge({
      call: pending,
      begin: (call) => this.#begin(judge, pending, call),
      refuse: (refusal) => this.#answers.refuse(judge, pending, refusal),
      giveUp: (error, halt) => this.#answers.giveUp(judge, pending, error, halt),
    });
  }

  #begin(judge: Judge, pending: CallRequest, call: RelayedCall): void {
    if (pending.wait.isAborted) {
      call.cancel();
      return;
    }
    pending.call = call;
    if (this.parked.keepCall(pending, judge.clock)) return;
    if (pending.isModern) this.#isModern = true;
    else this.#health?.start();
    const { line } = pending;
    pending.line = undefined;
    if (line !== undefined) this.#ports.toServer(line);
    // A call without an id has no answer to be settled by.
    if (pending.id !== undefined) return;
    call.cancel();
    this.#pending.remove(pending);
  }

  /** Whether the cancellation passes: the server does not know a call that is held. */
  #readCancel(message: RpcMessage): boolean {
    const { id, reason, isTimeOut } = readCancellation(message);
    const pending = this.#pending.find(id);
    if (pending === undefined) return true;
    if (pending.kind === 'request') {
      // Servers do not answer it any more. A list of tools that comes all the same is read.
      if (!isList(pending) && this.#pending.isOnly(pending)) this.#pending.remove(pending);
      return true;
    }
    this.#pending.remove(pending);
    pending.wait.abort();
    if (pending.call === undefined) return false;
    if (isTimeOut) settleTimedOut(pending.call, reason);
    else pending.call.cancel();
    return true;
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
    this.#health?.noteLine();
    if (line.length > parseBytesMax) {
      const envelope = scanLine(line);
      if (envelope.top === 'object' && !this.#isExpected(envelope)) return 'pass';
    }
    const message = parseLine(line);
    if (message === undefined) return this.#lists.refuseUnreadable(scanLine(line)) ? 'drop' : 'pass';
    const limited = this.#lists.read(message, line);
    if (limited !== undefined) return limited;
    if (!Array.isArray(message)) return this.#readServerMessage(message as RpcMessage, line);
    for (const each of message) {
      const answer = readObject(each);
      if (answer !== undefined) this.#readServerMessage(answer, line); // The list passes as it is.
    }
    return 'pass';
  }

  #isExpected({ id, method }: Envelope): boolean {
    if (method !== undefined) return false;
    return this.#pending.find(normalizeId(id)) !== undefined || this.handshake.hasId(id) || this.#own.isWaiting;
  }

  #readServerMessage(message: RpcMessage, line: Buffer): LineVerdict {
    if (typeof message.method === 'string') {
      if (message.method === 'notifications/progress') this.#readProgress(message);
      return 'pass';
    }
    const id = readId(message, line);
    if (!this.handshake.readAnswer(message, id) || this.#own.readAnswer(message)) return 'drop';
    const pending = this.#pending.find(id);
    // A client waits on after an answer that it cannot read, so a list after it is read, too.
    if (pending === undefined || (isList(pending) && !isWholeAnswer(message))) return 'pass';
    this.answers++;
    this.#pending.remove(pending);
    if (pending.kind === 'call') return this.#readAnswer(pending, message, line);
    return 'pass';
  }

  #readAnswer(pending: CallRequest, message: RpcMessage, line: Buffer): LineVerdict {
    if (pending.call === undefined) return 'pass';
    const result = settleAnswer(pending.call, message);
    if (readObject(message.result)?.resultType === 'input_required') this.parked.expectContinuation(pending);
    this.#judge?.tools.check();
    if (pending.isAnswered) return 'drop';
    if (message.error !== undefined || result === message.result) return 'pass';
    // A hint for the model is added only where writing the message again changes nothing else.
    if (JSON.stringify(message) !== line.toString('utf8').trimEnd()) return 'pass';
    return Buffer.from(`${JSON.stringify({ ...message, result })}\n`);
  }

  /** A result that was too long to be read as a whole counts by its flag. */
  #endLongAnswer(envelope: Envelope, verdict: 'pass' | 'drop'): void {
    const id = normalizeId(envelope.id);
    if (verdict === 'drop') this.#lists.endLong(envelope);
    const pending = envelope.method === undefined ? this.#pending.find(id) : undefined;
    if (pending === undefined) return;
    this.#pending.remove(pending);
    if (pending.kind !== 'call' || pending.call === undefined) return;
    const { isError, resultType, hasError } = envelope;
    if (hasError) settleAnswer(pending.call, { error: { message: 'an error that is too long to be read' } });
    else settleAnswer(pending.call, { result: { isError, ...(resultType && { resultType }) } });
  }

  #readProgress(message: RpcMessage): void {
    const token = readObject(message.params)?.progressToken;
    this.#pending.findByProgressToken(JSON.stringify(token) ?? '')?.call?.progress();
  }

  #open(): Promise<Judge | undefined> {
    if (this.#opening === undefined) this.#lists.wait();
    this.#opening ??= this.#ports.openJudge({ name: this.#client, approver: this.#elicitation.approver }).then(
      (judge) => {
        this.#judge = judge;
        this.#lists.open(judge.tools);
        this.#health = judge.watch(this.#watched);
        this.handshake.read((introduction) => judge.tools.pins?.readIntroduction(introduction));
        return judge;
      },
      (error: unknown) => {
        this.#opening = undefined; // The next call or list tries again.
        this.#lists.open(undefined);
        this.#ports.onJudgeFailed(error);
        return undefined;
      },
    );
    return this.#opening;
  }
}
