/** Tables and colours for a terminal. */

import { styleText } from 'node:util';
import { type Paint, sanitizeText, type TableCell } from '../operator/format.ts';
import type { Terminal } from './command.ts';

/** Paints text with escape codes where the terminal shows colours; returns the text unchanged elsewhere. */
export function createPaint({ coloured }: Terminal): Paint {
  return (text, style) =>
    coloured !== true || style === undefined || text === '' ? text : styleText(style, text, { validateStream: false });
}

const cellWidthMax = 48;

/** Aligns rows in columns. A cell is cut after 48 characters, except in the last column. */
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
