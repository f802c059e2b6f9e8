/** Meters one model call: what it has used so far, reported or estimated, and what that costs. */

import type { Cost } from '../core/action.ts';
import { type PricedUsage, priceUsage } from '../guard/internal.ts';
import type { StreamEvent } from '../http/event-stream.ts';
import type { GatewayContext } from './gateway-context.ts';
import { heldEventBytesMax, longEventTailBytes, outputTokensMin, wholeAnswerTokens } from './limits.ts';
import type { ModelCall } from './model-call.ts';
import { type AnswerReader, asFields, type Fields } from './shapes/shape.ts';

/** What the price of a call depends on. */
interface PricedTokens {
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The counts of the provider. */
  readonly reported: Fields | undefined;
}

export class CallMeter {
  readonly #context: GatewayContext;
  readonly #own: ModelCall;
  readonly reader: AnswerReader;
  /** The tokens of the prompt: estimated, until the provider reports them. */
  inputTokens: number;
  /** Output tokens that an answer may have which cannot be cut. */
  longestOutput: number;
  /** Bytes of a whole answer that have come. */
  wholeBytes = 0;
  /** The last price, which is asked for several times. */
  #lastPrice: (PricedTokens & { readonly cost: Cost }) | undefined;
  /** The event that passes unread because it is too long. */
  #longEvent: { head: string; tail: Buffer; length: number } | undefined;

  constructor(context: GatewayContext, own: ModelCall) {
    const { facts, shape, size } = own;
    this.#context = context;
    this.#own = own;
    this.reader = shape.createReader(facts);
    this.inputTokens = context.figures.estimateInput(facts.model, size);
    this.longestOutput = facts.maxOutput?.tokens ?? wholeAnswerTokens * (facts.answers ?? 1);
  }

  /** The output tokens with which a call begins. */
  get leastOutput(): number {
    return Math.min(outputTokensMin, this.#own.facts.maxOutput?.tokens ?? outputTokensMin);
  }

  /** The output tokens that the model usually writes, within the limit of the request. */
  get usualOutput(): number {
    const { model, maxOutput } = this.#own.facts;
    return Math.min(this.#context.figures.usualOutput(model), maxOutput?.tokens ?? Number.MAX_VALUE);
  }

  /** Whether more was written than some tokens have letters; `usage` says it exactly. */
  mayExceed(outputTokens: number): boolean {
    return this.#context.figures.countAnswer(this.#own.facts, this.reader.writtenLength) > outputTokens;
  }

  usage(): PricedUsage {
    return this.#context.figures.readUsage(this.#own.facts, this.#own.size, this.reader);
  }

  /**
   * The final usage of the call. A call that goes on at the provider costs its longest answer; a whole answer of which
   * nothing is known costs as much as the model usually writes.
   */
  lastUsage(): PricedUsage {
    const usage = this.usage();
    const { facts } = this.#own;
    if (this.reader.isUsageFinal) return usage;
    if (facts.runsOn) return { ...usage, outputTokens: Math.max(usage.outputTokens, this.longestOutput) };
    if (facts.isStream || this.reader.isEnded) return usage;
    const come = this.#context.figures.countWritten(facts.model, this.wholeBytes);
    const likely = Math.min(this.longestOutput, Math.max(this.usualOutput, come));
    return { ...usage, outputTokens: Math.max(usage.outputTokens, likely) };
  }

  /** The cost of the call if its answer has some tokens. */
  price(outputTokens: number): Cost {
    const { usage } = this.reader;
    const model = this.reader.model ?? this.#own.facts.model;
    const { inputTokens } = this;
    const last = this.#lastPrice;
    const isSame = last?.outputTokens === outputTokens && last.inputTokens === inputTokens;
    if (isSame && last.reported === usage && last.model === model) return last.cost;
    const { id: task, session, agent } = this.#own.task;
    const counts = { ...(usage && this.usage()), model, inputTokens, outputTokens };
    const cost = priceUsage(this.#context.runtime, counts, { task, session, agent });
    this.#lastPrice = { outputTokens, inputTokens, reported: usage, model, cost };
    return cost;
  }

  /** Reads one event, or the last part of one whose beginning has passed. */
  readEvent(event: StreamEvent): void {
    if (this.#longEvent === undefined) {
      const { text } = event;
      if (text !== undefined) this.reader.readEvent(text);
      return;
    }
    this.readPart(event.raw);
    const { head, tail, length } = this.#longEvent;
    this.#longEvent = undefined;
    this.reader.readLongEvent({ head, tail: tail.toString(), length });
  }

  /** Reads a part of an event that is too long to be held. */
  readPart(part: Buffer): void {
    const event = this.#longEvent ?? { head: part.toString('utf8', 0, 1_024), tail: Buffer.alloc(0), length: 0 };
    event.length += part.length;
    event.tail = Buffer.concat([event.tail, part.subarray(-longEventTailBytes)]).subarray(-longEventTailBytes);
    this.#longEvent = event;
  }

  /** Reads a whole answer; one that is no JSON tells nothing, like one that broke off. */
  readWhole(text: string): void {
    const read = parseJson(text);
    if (read === undefined) return;
    // A stream of Gemini without events is one array of all chunks.
    for (const each of Array.isArray(read) ? read : [read]) this.reader.readWhole(asFields(each));
  }

  /** Learns from a finished call. */
  learn(): void {
    this.#context.figures.learn(this.#own.facts, this.#own.size, this.reader);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether an event is too long to be held until it ends. */
export function isLongEvent(heldBytes: number): boolean {
  return heldBytes > heldEventBytesMax;
}
