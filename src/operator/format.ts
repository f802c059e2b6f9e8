/** Formats counts, time spans and foreign text for a person to read. */

import { cleanLine } from '../core/foreign-text.ts';

/** A text style of a terminal. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** A text with an optional style. */
export interface TableCell {
  readonly text: string;
  readonly style?: Style | undefined;
}

/** Applies a style to a text. */
export type Paint = (text: string, style: Style | undefined) => string;

/** Cleans foreign text: each run of control, format and line separator characters becomes a dot. */
export function sanitizeText(text: string): string {
  return cleanLine(text);
}

/** Formats a count with its noun: `1 task`, `2 tasks`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
