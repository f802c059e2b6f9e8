/** The door `switchgear/prices`: what models of all vendors cost, offline. */

export type { Price, Prices, Usage } from '../ports/prices.ts';
export { type CustomPrices, type PriceBookOptions, priceBook } from './price-book.ts';
