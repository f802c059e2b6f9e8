/** The interface of prices: how the cost of a model call is computed. */

/** The tokens of one model call. Input tokens include cache reads and cache writes. */
export interface Usage {
  readonly model?: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** The part of the cache writes that is kept for an hour, which costs twice as much as input. @default 0 */
  readonly cacheWrite1hTokens?: number;
}

/** The price of one model call. */
export interface Price {
  /** The cost in US dollars. A gear rounds it up to a millionth of a dollar. */
  readonly costUsd: number;
  /** The model whose rates give the price. */
  readonly basis: string;
}

/** A table of rates. Prices are per model call, not per total, because some rates depend on the request size. */
export interface Prices {
  /** Returns the price, or undefined if the model is unknown. Never throws. */
  price(usage: Usage): Price | undefined;
  /** Returns the price that an unknown model is charged: the highest of its family. */
  highestPrice(usage: Usage): Price;
}
