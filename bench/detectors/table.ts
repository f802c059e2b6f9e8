/** Scores as a page: two tables, or two per group. */

import type { Score } from './score.ts';
import type { Loss } from './yardstick.ts';

type Column = readonly [head: string, cell: (score: Score) => string];

const haltColumns: readonly Column[] = [
  ['rule', ({ name }) => name],
  ['good runs halted', ({ goodHalted, goodTotal }) => formatShare(goodHalted, goodTotal)],
  ['lost: work / text / nothing', formatLosses],
  ['by chance (ratio)', formatChance],
  ['bad runs halted', ({ badHalted, badTotal }) => formatShare(badHalted, badTotal)],
  ['halt at (good / bad)', (score) => `${formatPosition(score.goodHaltAtPct)} / ${formatPosition(score.badHaltAtPct)}`],
  ['events saved', ({ eventsSavedPct }) => `${eventsSavedPct.toFixed(1)} %`],
  ['tokens saved [95 %]', formatTokens],
  ['mean saved', ({ meanSavedPct }) => `${meanSavedPct.toFixed(1)} %`],
  ['without InterCode (good / bad)', formatElsewhere],
];

/** What our policies say, beside what they halt. */
const suspicionColumns: readonly Column[] = [
  ['policy', ({ name }) => name],
  ['bad runs raised', ({ badRaised, badTotal }) => formatShare(badRaised, badTotal)],
  ['good runs raised', ({ goodRaised, goodTotal }) => formatShare(goodRaised, goodTotal, 2)],
  ['bad runs hinted', ({ badNudged, badTotal }) => formatShare(badNudged, badTotal)],
  ['good runs hinted', ({ goodNudged, goodTotal }) => formatShare(goodNudged, goodTotal)],
  ['good runs that lost by certainty', formatCertain],
  ['good runs with a call refused', ({ goodDenied, goodTotal }) => formatShare(goodDenied, goodTotal)],
];

export function formatScores(runs: number, scores: readonly Score[]): string {
  const groups = [...new Set(scores.map(({ group }) => group))];
  const parts = [`${runs} runs`];
  for (const group of groups) {
    const mine = scores.filter((score) => score.group === group);
    const { goodTotal, badTotal, unknownTotal } = mine[0]!;
    const unknown = unknownTotal > 0 ? `, ${unknownTotal} unknown` : '';
    parts.push(`${group === undefined ? '' : `### ${group}: `}${goodTotal} good, ${badTotal} bad${unknown}`);
    parts.push(formatTable(haltColumns, mine));
    const policies = mine.filter(({ isPolicy }) => isPolicy);
    parts.push(formatTable(suspicionColumns, policies));
  }
  return parts.join('\n\n');
}

function formatTable(columns: readonly Column[], scores: readonly Score[]): string {
  const all = [columns.map(([head]) => head), ...scores.map((score) => columns.map(([, cell]) => cell(score)))];
  const widths = columns.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const [head, ...rows] = all.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`);
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows].join('\n');
}

const formatShare = (part: number, whole: number, digits = 1) =>
  whole === 0 ? '-' : `${part} (${((100 * part) / whole).toFixed(digits)} %)`;
const formatPosition = (position: number | null) => (position === null ? '-' : `${position} %`);

function formatLosses({ falseHalts }: Score): string {
  const count = (wanted: Loss) => falseHalts.filter(({ lost }) => lost === wanted).length;
  return falseHalts.length === 0 ? '-' : `${count('work')} / ${count('text')} / ${count('nothing')}`;
}

/** Good runs halted by the loop control, and not by a cap, that lost something. */
function formatCertain({ falseHalts, goodTotal }: Score): string {
  const costly = falseHalts.filter(({ code, lost }) => /_loop$/.test(code ?? '') && lost !== 'nothing');
  return formatShare(costly.length, goodTotal, 2);
}

function formatChance({ goodHalted, goodByChance }: Score): string {
  return goodByChance === 0 ? '-' : `${goodByChance.toFixed(1)} (${(goodHalted / goodByChance).toFixed(2)})`;
}

function formatTokens({ tokensSavedPct, tokensSavedInterval: [low, high] }: Score): string {
  return `${tokensSavedPct.toFixed(1)} % [${low.toFixed(0)}, ${high.toFixed(0)}]`;
}

function formatElsewhere({ elsewhere: { goodHalted, goodTotal, badHalted, badTotal } }: Score): string {
  return `${formatShare(goodHalted, goodTotal)} / ${formatShare(badHalted, badTotal)}`;
}
