/** Entry point `switchgear/prices`: offline prices of models of all vendors. */

export type { Price, Prices, Usage } from '../ports/prices.ts';
export { type CustomPrices, type PriceBookOptions, priceBook } from './price-book.ts';
