/** Tables in Markdown, with the target beside what was measured. */

import { arch, availableParallelism, platform } from 'node:os';

/** A figure that should not be above its target. */
export interface TargetFigure {
  readonly what: string;
  readonly measured: number;
  readonly target: number;
  readonly unit: string;
  readonly range?: readonly [number, number];
}

/** When and on what something was measured. */
export function formatOccasion(command: string): string {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${availableParallelism()} cores, ${platform()} ${arch()}, Node ${process.versions.node}`;
  return `Measured on ${date} with \`${command}\`: ${machine}`;
}

export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, at) => (at === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

export function formatTargetTable(targets: readonly TargetFigure[]): string {
  const rows = targets.map(({ what, measured, target, unit, range }) => [
    what,
    `${round(measured)}${unit}${formatRange(range)}`,
    `<= ${round(target)}${unit}`,
    formatMark(measured, target),
  ]);
  return formatTable(['', 'measured', 'target', ''], rows);
}

function formatRange(range: TargetFigure['range']): string {
  return range === undefined || range[0] === range[1] ? '' : ` (${round(range[0])}-${round(range[1])})`;
}

export function formatMark(measured: number, target: number): string {
  return measured <= target ? '✓' : '✗';
}

/** Three digits say enough. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toFixed(size >= 10 ? 1 : 2)));
}

/** Nanoseconds in the unit in which they are read. */
export function formatTime(ns: number): string {
  if (ns >= 1e6) return `${round(ns / 1e6)} ms`;
  return ns >= 1e4 ? `${round(ns / 1e3)} µs` : `${round(ns)} ns`;
}

export function formatPower(count: number): string {
  const exponent = Math.log10(count);
  return Number.isInteger(exponent) ? `10^${exponent}` : String(count);
}
