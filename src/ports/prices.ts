/** What a model call costs. */

/** Tokens of one model call. Input includes what was read from or written to a cache. */
export interface Usage {
  readonly model?: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
}

export interface Price {
  /** Whole micro-dollars, rounded up: one cent is 10,000. */
  readonly micros: number;
  /** The model whose rates were used. */
  readonly basis: string;
}

/** The book of rates. Priced per model call, never on sums: some rates depend on the size of the request. */
export interface Prices {
  /** The price, or undefined where the model is unknown. Never throws. */
  price(usage: Usage): Price | undefined;
  /** The price at the dearest rates known, for a model that is not. */
  dearest(usage: Usage): Price;
}
