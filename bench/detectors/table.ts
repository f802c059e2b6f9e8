/** Scores as a page: one table, or one per group. */

import type { Score } from './score.ts';

const heads = ['rule', 'good runs halted', 'bad runs halted', 'halt at (good / bad)', 'events saved', 'tokens saved'];
const extraHeads = ['good runs told', 'with a call refused'];

export function formatScores(runs: number, scores: readonly Score[]): string {
  const groups = [...new Set(scores.map(({ group }) => group))];
  const parts = [`${runs} runs`];
  for (const group of groups) {
    const mine = scores.filter((score) => score.group === group);
    const { goodTotal, badTotal, unknownTotal } = mine[0]!;
    const unknown = unknownTotal > 0 ? `, ${unknownTotal} unknown` : '';
    parts.push(`${group === undefined ? '' : `### ${group}: `}${goodTotal} good, ${badTotal} bad${unknown}`);
    parts.push(rows(mine));
  }
  return parts.join('\n\n');
}

function rows(scores: readonly Score[]): string {
  const cells = scores.map((score) => [
    score.name,
    formatShare(score.goodHalted, score.goodTotal),
    formatShare(score.badHalted, score.badTotal),
    `${formatPosition(score.goodHaltAtPct)} / ${formatPosition(score.badHaltAtPct)}`,
    `${score.eventsSavedPct.toFixed(1)} %`,
    `${score.tokensSavedPct.toFixed(1)} %`,
    score.badNudged > 0 ? formatShare(score.goodNudged, score.goodTotal) : '-',
    score.badNudged > 0 ? formatShare(score.goodDenied, score.goodTotal) : '-',
  ]);
  const all = [[...heads, ...extraHeads], ...cells];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`;
  return [line(all[0]!), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...cells.map(line)].join('\n');
}

const formatShare = (part: number, whole: number) =>
  whole === 0 ? '-' : `${part} (${((100 * part) / whole).toFixed(1)} %)`;
const formatPosition = (position: number | null) => (position === null ? '-' : `${position} %`);
