/** Text on a terminal: aligned columns, colours only where they are wanted, and nothing that could steer a terminal. */

import { styleText } from 'node:util';
import type { Terminal } from './command.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** A piece of text in one style. */
export interface TableCell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export type Paint = (text: string, style: Style | undefined) => string;

export function createPaint({ coloured }: Terminal): Paint {
  return (text, style) =>
    coloured !== true || style === undefined || text === '' ? text : styleText(style, text, { validateStream: false });
}

const cellWidthMax = 48;

/** Rows as lines with aligned columns; the last one is as long as it is. */
export function formatTable(rows: readonly (readonly TableCell[])[], paint: Paint): readonly string[] {
  const cleanRows = rows.map((row) =>
    row.map(({ text, style }, at) => ({ text: truncateCell(sanitizeText(text), at < row.length - 1), style })),
  );
  const columns = Math.max(0, ...cleanRows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(...cleanRows.map((row) => row[at]?.text.length ?? 0)),
  );
  return cleanRows.map((row) =>
    row
      .map(
        ({ text, style }, at) => paint(text, style) + ' '.repeat(at < row.length - 1 ? widths[at]! - text.length : 0),
      )
      .join('  ')
      .replace(/^/, '  ')
      .trimEnd(),
  );
}

function truncateCell(text: string, isInner: boolean): string {
  return isInner && text.length > cellWidthMax ? `${text.slice(0, cellWidthMax - 1)}…` : text;
}

/** Names and reasons come from outside: what would move a cursor or turn the text around is shown as a dot. */
export function sanitizeText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, '·');
}

/** A time span in one or two units. */
export function formatTimeSpan(ms: number): string {
  const secs = Math.max(0, Math.round(ms / 1000));
  if (secs < 100) return `${secs} s`;
  const minutes = Math.round(secs / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** `1 task`, `2 tasks`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
