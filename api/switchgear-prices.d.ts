export interface CustomPrices {
    readonly inputPerMillion: number;
    readonly outputPerMillion: number;
    readonly cacheReadPerMillion?: number;
    readonly cacheWritePerMillion?: number;
}

export interface Price {
    readonly micros: number;
    readonly basis: string;
}

export interface PriceBookOptions {
    readonly overrides?: Readonly<Record<string, CustomPrices>>;
}

export interface Prices {
    price(usage: Usage): Price | undefined;
    dearest(usage: Usage): Price;
}

export interface Usage {
    readonly model?: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cacheReadTokens?: number;
    readonly cacheWriteTokens?: number;
}

export declare function priceBook(options?: PriceBookOptions): Prices;
