/** The reservation of one model call: it grows with a stream, and is a fair share for a whole answer. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Cost } from '../core/action.ts';
import type { Stop } from '../core/verdict.ts';
import type { RelayedCall } from '../guard/entries/relayed-call.ts';
import { warnPayersNearLimit } from '../guard/internal.ts';
import type { CallMeter } from './call-meter.ts';
import type { GatewayContext } from './gateway-context.ts';
import { growthWaitMaxMs, outputTokensStep, shareRoundsMax, wholeAnswerShare, wholeAnswerUsuals } from './limits.ts';
import type { ModelCall } from './model-call.ts';
import { computeLack, type ReservedCall } from './running-calls.ts';

const nothing = { micros: 0, tokens: 0 };

export class CallReservation implements ReservedCall {
  readonly #context: GatewayContext;
  readonly #own: ModelCall;
  readonly #meter: CallMeter;
  #call: RelayedCall | undefined;
  /** Output tokens that are reserved. */
  #outputTokens: number;
  reserved: Pick<Cost, 'micros' | 'tokens'> = nothing;
  leave: (() => boolean) | undefined = undefined;
  /** What the ledger counts for the call while it runs. */
  #expected: Pick<Cost, 'micros' | 'tokens'> = nothing;

  constructor(context: GatewayContext, own: ModelCall, meter: CallMeter) {
    this.#context = context;
    this.#own = own;
    this.#meter = meter;
    this.#outputTokens = meter.leastOutput;
  }

  get task() {
    return this.#own.task;
  }

  get model() {
    return this.#own.facts.model;
  }

  /** What the call must have to begin. */
  get first(): Cost {
    return this.#meter.price(this.#outputTokens);
  }

  /** Whether the answer may have used up what is reserved. */
  get isUsedUp(): boolean {
    return this.#meter.mayExceed(this.#outputTokens);
  }

  /** Takes over what was reserved at admission, and reserves as much as the model usually writes, if it is there. */
  begin(call: RelayedCall): void {
    this.#call = call;
    this.reserved = this.first;
    const { usualOutput } = this.#meter;
    if (usualOutput > this.#outputTokens) this.#reserve(usualOutput, true);
    this.#context.running.begin(this);
    this.#expect(Math.min(this.#outputTokens, usualOutput));
    this.#context.ledger?.save(this.task);
    this.#context.tasks.goOn?.(this.task);
  }

  /** Gives back what is left after settlement, and writes notices that are due. */
  end(): void {
    this.#context.running.end(this);
    if (this.#call === undefined) return;
    warnPayersNearLimit(this.#context.runtime, this.task);
    const { micros, tokens } = this.#expected;
    this.reserved = nothing;
    this.#expected = nothing;
    this.#context.ledger?.expect(this.task, { micros: -micros, tokens: -tokens });
    this.#context.ledger?.save(this.task);
  }

  /** Reserves what was written beyond the reservation. Returns a stop if a budget has too little left. */
  grow(): Stop | undefined {
    const { inputTokens, outputTokens } = this.#meter.usage();
    if (outputTokens <= this.#outputTokens && inputTokens === this.#meter.inputTokens) return undefined;
    this.#meter.inputTokens = inputTokens;
    const ahead = Math.max(this.#outputTokens, outputTokens + outputTokensStep);
    const more = this.#reserve(ahead, true);
    // While a store is asked for the larger amount, it must not be asked for the smaller one, too.
    const stop = more === undefined || more.kind === 'wait' ? more : this.#reserve(outputTokens, true);
    if (stop === undefined) this.#expect(this.#outputTokens);
    return stop;
  }

  /** Ends the task whose budget has nothing left; the budget may have something by now. */
  growOrHalt(): Stop | undefined {
    return this.#reserve(this.#meter.usage().outputTokens, false);
  }

  /**
   * Reserves a whole answer, which cannot be cut, and returns how long it may be. A long one gets a part of what is
   * left, so that others can run beside it.
   */
  async shareWhole(longest: number): Promise<number> {
    const usual = wholeAnswerUsuals * this.#meter.usualOutput;
    const fitting = this.#countFitting(Math.max(longest / wholeAnswerShare, usual));
    const needed = Math.max(usual, this.#own.facts.minOutput ?? 0, Math.floor(fitting * wholeAnswerShare));
    let tokens = Math.max(this.#outputTokens, Math.min(longest, needed, fitting));
    const { clock } = this.#context.runtime;
    const untilMs = clock.nowMs() + growthWaitMaxMs;
    for (let round = 0; round < shareRoundsMax && tokens > this.#outputTokens; round++) {
      const stop = this.#reserve(tokens, true);
      if (stop === undefined) break;
      const nowMs = clock.nowMs();
      // The store has to be asked: without the answer, only what is in hand is certain.
      if (stop.kind === 'wait' && nowMs < untilMs) await sleep(Math.max(1, (stop.retryAtMs ?? nowMs) - nowMs));
      else tokens = Math.max(this.#outputTokens, Math.floor(tokens / 2));
    }
    return Math.min(longest, this.#outputTokens);
  }

  /** How many output tokens the budgets have left for this call, up to a number. */
  #countFitting(most: number): number {
    let tokens = most;
    for (let round = 0; round < shareRoundsMax && tokens > this.#outputTokens; round++) {
      const cost = this.#meter.price(tokens);
      const stop = this.#call!.probe(cost);
      if (stop === undefined) return tokens;
      const lack = computeLack(stop);
      const empty = this.#meter.price(0);
      const perToken = lack === undefined ? 0 : (cost[lack.unit] - empty[lack.unit]) / tokens;
      const over = lack === undefined || perToken <= 0 ? tokens / 2 : lack.amount / perToken;
      tokens = Math.floor(Math.min(tokens - over, tokens * 0.95));
    }
    return Math.max(tokens, this.#outputTokens);
  }

  #reserve(outputTokens: number, isOptional: boolean): Stop | undefined {
    const cost = this.#meter.price(outputTokens);
    const stop = this.#call!.reserve(cost, isOptional);
    if (stop !== undefined) return stop;
    this.#outputTokens = outputTokens;
    this.reserved = cost;
    return undefined;
  }

  #expect(outputTokens: number): void {
    const { ledger } = this.#context;
    if (ledger === undefined) return;
    const { micros, tokens } = this.#meter.price(outputTokens);
    ledger.expect(this.task, { micros: micros - this.#expected.micros, tokens: tokens - this.#expected.tokens });
    this.#expected = { micros, tokens };
  }
}
