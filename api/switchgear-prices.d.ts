export interface CustomPrices {
    readonly inputUsdPerMillion: number;
    readonly outputUsdPerMillion: number;
    readonly cacheReadUsdPerMillion?: number;
    readonly cacheWriteUsdPerMillion?: number;
}

export interface Price {
    readonly costUsd: number;
    readonly basis: string;
}

export interface PriceBookOptions {
    readonly overrides?: Readonly<Record<string, CustomPrices>>;
}

export interface Prices {
    price(usage: Usage): Price | undefined;
    highestPrice(usage: Usage): Price;
}

export interface Usage {
    readonly model?: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cacheReadTokens?: number;
    readonly cacheWriteTokens?: number;
    readonly cacheWrite1hTokens?: number;
}

export declare function priceBook(options?: PriceBookOptions): Prices;
