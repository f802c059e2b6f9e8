/** One model call through the gateway: judged and reserved before it is sent, metered while its answer passes. */

import type { IncomingMessage } from 'node:http';
import type { Refusal } from '../core/refusal.ts';
import type { Stop } from '../core/verdict.ts';
import { type RelayedCall, refusesCalls, relayCall } from '../guard/entries/relayed-call.ts';
import { type Target as CallTarget, type PricedUsage, refreshOnce, type TaskState } from '../guard/internal.ts';
import { openAnswer } from '../http/answer-body.ts';
import type { Store } from '../ports/store.ts';
import { CallMeter } from './call-meter.ts';
import { CallReservation } from './call-reservation.ts';
import { clampOutput } from './clamp-output.ts';
import { chargeClosing, takeClosing } from './closing-call.ts';
import type { GatewayContext } from './gateway-context.ts';
import { answerBytesMax, growthRetriesMax, growthRetryMs, growthWaitMaxMs } from './limits.ts';
import { type ModelCall, targetOf } from './model-call.ts';
import { describeRefusal, sendAnswer, sendClosing, sendRefusal, sendUnreachable } from './own-answer.ts';
import { passStream, type StreamGate } from './pass-stream.ts';
import { makeUpstreamHeaders, passAnswer, passHead } from './pass-through.ts';
import { sendWithRetries } from './send-with-retries.ts';
import { readStreamError } from './shapes/stream-error.ts';
import type { Upstream } from './upstreams.ts';

/** Judges a model call, and passes it or refuses it. */
export function exchangeModelCall(context: GatewayContext, call: ModelCall): void {
  new ModelExchange(context, call).judge();
}

class ModelExchange implements StreamGate {
  readonly #context: GatewayContext;
  readonly #own: ModelCall;
  readonly #meter: CallMeter;
  readonly #reservation: CallReservation;
  /** Ends the call to the upstream, and the wait before it. */
  readonly #closing = new AbortController();
  #upstream: Upstream;
  #call: RelayedCall | undefined;
  /** Whether the call is settled or refused. */
  isOver = false;
  isDraining = false;
  /** How often its growth was tried again because of other gateways. */
  #retries = 0;
  /** How long the answer may be, if it is the closing one of its task. */
  #closingTokens: number | undefined;
  /** Whether the upstream has begun to answer. */
  #isAnswered = false;

  constructor(context: GatewayContext, own: ModelCall) {
    this.#context = context;
    this.#own = own;
    this.#upstream = own.upstream;
    this.#meter = new CallMeter(context, own);
    this.#reservation = new CallReservation(context, own, this.#meter);
  }

  get isUsedUp(): boolean {
    return this.#closingTokens === undefined && this.#reservation.isUsedUp;
  }

  judge(): void {
    this.#own.response.on('close', () => this.#drop());
    this.#relay();
  }

  #relay(): void {
    const { micros, tokens } = this.#reservation.first;
    const target = this.#chooseUpstream();
    relayCall(this.#context.runtime, {
      target,
      task: this.#chooseTask(target),
      args: [],
      maxCost: { usd: micros / 1_000_000, tokens },
      isFresh: refreshOnce(this.#context.runtime.store),
      signal: this.#closing.signal,
      takeBack: (stop) => this.#waitForOthers(stop),
      begin: (call) => this.#begin(call),
      refuse: (refusal) => this.#refuse(refusal),
      giveUp: (error) => this.#fail(error),
    });
  }

  /**
   * The task for which a call counts. A conversation that was ended is refused by itself, and its refusals do not count
   * for the other ones of the task. Refusals of an open circuit count for no task: clients try again after a time.
   */
  #chooseTask(target: CallTarget): TaskState | undefined {
    const { task, conversation } = this.#own;
    if (conversation?.haltStop !== undefined) return conversation;
    const isOpen = task.haltStop === undefined && refusesCalls(this.#context.runtime, target, task);
    return isOpen ? undefined : task;
  }

  /** Waits until another call gives money back, if one may; a call that waited too long comes again later. */
  #waitForOthers(stop: Stop): boolean {
    const { running } = this.#context;
    if (this.isOver || !running.mayRelease(stop, this.#reservation)) return false;
    const retry = () => {
      this.#relay();
      return true;
    };
    if (!running.wait(this.#reservation, retry, () => this.#refuseForNow())) this.#refuseForNow();
    return true;
  }

  #refuseForNow(): void {
    const { response, shape } = this.#own;
    if (this.isOver) return;
    this.#own.onUsage?.(0);
    this.isOver = true;
    const message = 'Switchgear: other calls have reserved the rest of the budget: try again when they have ended';
    const answer = shape.refuse(message, 'budget_reserved', 503);
    sendAnswer(response, answer, { 'retry-after': '5', 'x-switchgear-code': 'budget_reserved' });
  }

  /** Chooses the fallback while the circuit of the model is open; each upstream has a circuit of its own. */
  #chooseUpstream(): CallTarget {
    const { runtime } = this.#context;
    const { facts, task, upstream, target } = this.#own;
    const { fallback } = upstream;
    this.#upstream = upstream;
    const first = targetOf(this.#context, target.provider, upstream, facts.model);
    if (fallback === undefined || !refusesCalls(runtime, first, task)) return first;
    this.#upstream = fallback;
    return targetOf(this.#context, target.provider, fallback, facts.model);
  }

  #begin(call: RelayedCall): void {
    this.#call = call;
    if (this.isOver) {
      // The client left while a person was asked.
      call.settleMetered({ cancelled: true }, undefined);
      return;
    }
    call.signal.addEventListener('abort', () => this.#endByHalt(), { once: true });
    this.#reservation.begin(call);
    if (this.#own.response.destroyed) this.#drop();
    else this.#send().catch((error: unknown) => this.#fail(error));
  }

  async #send(): Promise<void> {
    const body = this.#isClamped ? await this.#clampBody() : this.#own.body;
    if (!this.isOver) await this.#pass(body);
  }

  async #pass(body: Buffer): Promise<void> {
    const { request, target } = this.#own;
    const upstream = this.#upstream;
    // Only a body that was changed is sent without its encoding.
    const isPlain = this.#own.isEdited === true || body !== this.#own.body;
    const headers = makeUpstreamHeaders(request, upstream, body.length, isPlain);
    const call = { method: 'POST', url: target.url, headers, body, signal: this.#closing.signal };
    const answer = await sendWithRetries(this.#context.connections, upstream, call);
    if (this.isOver) answer.destroy();
    else this.#receive(answer);
  }

  /** Whether the limit of the answer may be lowered: an answer that comes as a whole cannot be cut. */
  get #isClamped(): boolean {
    const { isStream, runsOn } = this.#own.facts;
    return !isStream || runsOn === true || this.#context.runtime.settings.gateway.clamp === 'always';
  }

  /** The body with the limit of its answer lowered to what the call may spend. */
  async #clampBody(): Promise<Buffer> {
    const { facts, body, plain } = this.#own;
    const longest = this.#meter.longestOutput;
    if ((facts.maxOutput ?? facts.outputPath) === undefined) return body;
    const tokens = await this.#reservation.shareWhole(longest);
    if (tokens >= longest) return body;
    this.#meter.longestOutput = tokens;
    const clamped = clampOutput(plain.toString(), facts, tokens);
    return clamped === undefined ? body : Buffer.from(clamped);
  }

  #receive(answer: IncomingMessage): void {
    const { response } = this.#own;
    const { statusCode: status = 502, headers } = answer;
    if (status < 200 || status >= 300) {
      this.#settle({ error: { name: 'UpstreamError', status, headers, message: `status ${status}` } });
      if (this.isDraining) answer.resume();
      else passAnswer(answer, response);
      return;
    }
    this.#isAnswered = true;
    const { source, isDecoded } = openAnswer(answer);
    if (/^text\/event-stream\b/i.test(headers['content-type'] ?? '')) {
      if (!this.isDraining) {
        passHead(answer, response, isDecoded, true);
        // Events that came with the head pass in the same piece.
        setImmediate(() => response.flushHeaders());
      }
      passStream(source, response, this.#meter, this);
    } else this.#passWhole(answer, source, isDecoded);
  }

  /** Holds an answer until it is complete, so that a halt can take its place. */
  #passWhole(answer: IncomingMessage, source: NodeJS.ReadableStream, isDecoded: boolean): void {
    const { response } = this.#own;
    const parts: Buffer[] = [];
    source.on('data', (part: Buffer) => {
      if (this.isOver) return;
      parts.push(part);
      this.#meter.wholeBytes += part.length;
      if (this.#meter.wholeBytes > answerBytesMax) this.#fail(new Error('its answer is too long'));
    });
    source.on('error', (error) => this.#fail(error));
    source.on('end', () => {
      if (this.isOver) return;
      const bytes = Buffer.concat(parts);
      this.#meter.readWhole(bytes.toString());
      this.#finish();
      if (this.isDraining) return;
      passHead(answer, response, isDecoded);
      response.end(bytes);
    });
  }

  /** Reserves what has been written; if the budget lacks it, waits for others or ends the stream. */
  pay(go: () => void): boolean {
    if (this.#closingTokens !== undefined) return this.#payClosing(this.#closingTokens);
    this.#context.run?.onSign();
    return this.#payWithin(growthWaitMaxMs, go);
  }

  /** The limit of a closing answer is in its request; one that is longer all the same is cut. */
  #payClosing(tokens: number): boolean {
    const { halt } = this.#own.task;
    if (halt === undefined || this.#meter.usage().outputTokens <= tokens * 1.1) return true;
    this.#cut(halt);
    return false;
  }

  #payWithin(patienceMs: number, go: () => void): boolean {
    const { clock } = this.#context.runtime;
    const stop = this.#reservation.grow();
    if (stop === undefined) return true;
    const waitMs = Math.max(1, (stop.retryAtMs ?? clock.nowMs()) - clock.nowMs());
    const retry = (delayMs: number) => {
      clock.after(delayMs, () => !this.isOver && this.#payWithin(patienceMs - delayMs, go) && go());
    };
    if (stop.kind === 'wait' && waitMs <= patienceMs) retry(waitMs);
    else if (this.#growLater(stop, go)) return false;
    // Another gateway on the store may give something back.
    else if (this.#isSharedStop(stop) && ++this.#retries <= growthRetriesMax) retry(growthRetryMs);
    else this.#cutAtLimit(stop);
    return false;
  }

  #isSharedStop({ counters }: Stop): boolean {
    return counters.scope !== undefined && (this.#context.runtime.store as Store).shared !== undefined;
  }

  /** Waits until another call gives money back, if one may. */
  #growLater(first: Stop, go: () => void): boolean {
    const { running } = this.#context;
    if (!running.mayRelease(first, this.#reservation)) return false;
    const retry = () => {
      const stop = this.#reservation.grow();
      if (stop === undefined) go();
      else if (running.mayRelease(stop, this.#reservation)) return false;
      else this.#cutAtLimit(stop);
      return true;
    };
    // The money is there, so the end of this stream does not end its task.
    const giveUp = () => this.#cut(this.#call!.explain(first));
    if (!running.wait(this.#reservation, retry, giveUp)) giveUp();
    return true;
  }

  #cutAtLimit(stop: Stop): void {
    if (stop.kind === 'halt') this.#reservation.growOrHalt();
    this.#cut(this.#call!.explain(stop));
  }

  end(rest: Buffer): void {
    this.#finish();
    if (!this.isDraining) this.#own.response.end(rest);
  }

  fail(error: unknown): void {
    this.#fail(error);
  }

  /** Settles the call by its whole answer. */
  #finish(): void {
    const { error, isEnded } = this.#meter.reader;
    const isBroken = !isEnded && this.#own.shape.alwaysEnds;
    const usage = this.#meter.lastUsage();
    if (error !== undefined) this.#settle({ error: readStreamError(error) }, usage);
    else if (isBroken) this.#settle({ error: { ...brokenOff, message: 'the stream ended early' } }, usage);
    else {
      this.#meter.learn();
      this.#settle({ value: undefined }, usage);
    }
  }

  #settle(ending: Parameters<RelayedCall['settleMetered']>[0], usage?: PricedUsage): void {
    this.isOver = true;
    this.#call?.settleMetered(ending, usage);
    this.#own.onUsage?.((usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0));
    this.#reservation.end();
    if (this.#closingTokens === undefined || usage === undefined) return;
    chargeClosing(this.#context.runtime, this.#own.task, usage);
    this.#context.ledger?.save(this.#own.task);
  }

  /** Settles the call of a client that is gone by what has come so far, or reads the rest of its answer. */
  #drop(): void {
    if (this.isOver) return;
    if (this.#call !== undefined && this.#context.runtime.settings.gateway.onDrop === 'drain') {
      this.isDraining = true;
      this.#own.response.emit('drain'); // A stream that waits for the client goes on.
      return;
    }
    this.#settle({ cancelled: true }, this.#meter.lastUsage());
    this.#closing.abort();
  }

  #endByHalt(): void {
    const { halt } = this.#own.task;
    if (!this.isOver && halt !== undefined) this.#cut(halt);
  }

  /** Ends the answer here: with a well-formed end of the stream, or with a refusal. */
  #cut(refusal: Refusal): void {
    const { response } = this.#own;
    if (this.isOver) return;
    const usage = this.#meter.lastUsage();
    this.#settle({ cancelled: true }, usage);
    if (response.headersSent) response.end(this.#meter.reader.endStream(describeRefusal(refusal), usage));
    else this.#answerRefusal(refusal);
    this.#closing.abort();
  }

  #refuse(refusal: Refusal): void {
    const { task, conversation, response, shape, facts } = this.#own;
    if (this.isOver) return;
    const cause = task.halt ?? conversation?.halt ?? refusal;
    const closing = takeClosing(this.#context.runtime, this.#own, this.#meter, cause);
    if (closing !== undefined && closing !== 'text') {
      this.#closingTokens = closing.tokens;
      this.#pass(closing.body).catch((error: unknown) => this.#fail(error));
      return;
    }
    this.#own.onUsage?.(0);
    this.isOver = true;
    if (closing === 'text') sendAnswer(response, shape.close(describeRefusal(cause), facts));
    else this.#answerRefusal(cause);
  }

  #answerRefusal(refusal: Refusal): void {
    const { response, shape, facts, task, conversation } = this.#own;
    const isHalted = (task.haltStop ?? conversation?.haltStop) !== undefined;
    // The agent of a run ends by itself before its process is ended.
    if (this.#context.run !== undefined && isHalted) sendClosing(response, shape, refusal, facts);
    else sendRefusal(response, shape, refusal, this.#context.runtime.clock.nowMs());
  }

  /** Ends the call of an upstream that cannot be reached, or that broke off. */
  #fail(error: unknown): void {
    const { response, shape } = this.#own;
    if (this.isOver) return;
    this.#settle({ error }, this.#isAnswered ? this.#meter.lastUsage() : undefined);
    if (response.headersSent) response.destroy();
    else sendUnreachable(response, shape, this.#upstream.baseUrl.host, error);
    this.#closing.abort();
  }
}

const brokenOff = { name: 'NetworkError', code: 'ECONNRESET' };
