/** How many bad runs are found at the price of how many good ones, over two thresholds: a plot, peers as points. */

import { createPolicyDetector } from './policy-detector.ts';
import type { Run } from './runs.ts';
import { type Score, scoreAll } from './score.ts';

interface FrontierPoint {
  readonly threshold: number;
  readonly good: number;
  readonly bad: number;
}

/** Runs halted over `repeats`, and runs raised over `card_points`. */
type Frontier = Readonly<Record<'halted' | 'raised', readonly FrontierPoint[]>>;

const repeats = [2, 3, 4, 5, 6, 8, 10];
const cardPoints = [10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40];
export const frontierSteps = repeats.length + cardPoints.length;
/** A card comes no earlier than the hint, so a lower threshold moves both. */
const notePoints = 12;

export function computeFrontier(runs: readonly Run[], progress: (done: number) => void): Frontier {
  let done = 0;
  const measure = (threshold: number, loop: Readonly<Record<string, number>>) => {
    const [score] = scoreAll(runs, [createPolicyDetector(`${threshold}`, { loop })], undefined);
    progress(++done);
    return score!;
  };
  return {
    halted: repeats.map((threshold) => ({ threshold, ...haltedShares(measure(threshold, { repeats: threshold })) })),
    raised: cardPoints.map((threshold) => {
      const loop = { card_points: threshold, note_points: Math.min(notePoints, threshold) };
      const { goodRaised, goodTotal, badRaised, badTotal } = measure(threshold, loop);
      return { threshold, good: percent(goodRaised, goodTotal), bad: percent(badRaised, badTotal) };
    }),
  };
}

const percent = (part: number, whole: number) => (100 * part) / Math.max(1, whole);

function haltedShares({ goodHalted, goodTotal, badHalted, badTotal }: Score): { good: number; bad: number } {
  return { good: percent(goodHalted, goodTotal), bad: percent(badHalted, badTotal) };
}

const width = 720;
const height = 420;
const edge = { left: 60, right: 20, top: 20, bottom: 50 };
/** Good runs halted are drawn on a scale of logarithms: from a tenth of a percent to forty. */
const [low, high] = [Math.log10(0.1), Math.log10(40)];
const badMax = 45;

const x = (good: number) =>
  edge.left + ((Math.log10(Math.max(good, 0.1)) - low) / (high - low)) * (width - edge.left - edge.right);
const y = (bad: number) => height - edge.bottom - (bad / badMax) * (height - edge.top - edge.bottom);

/** The presets come first; peers, who stand close together, are told apart by letters. */
const ourPresets = 3;
const letters = 'abcdefghijkl';

function drawLine(points: readonly FrontierPoint[], name: 'halted' | 'raised', setting: string): string {
  const line = points.map(({ good, bad }) => `${x(good).toFixed(1)},${y(bad).toFixed(1)}`).join(' ');
  const marks = points.map(
    ({ threshold, good, bad }) =>
      `<circle cx="${x(good).toFixed(1)}" cy="${y(bad).toFixed(1)}" r="3" class="${name}"/>` +
      `<text x="${(x(good) - 6).toFixed(1)}" y="${(y(bad) - 7).toFixed(1)}" class="small">${threshold}</text>`,
  );
  const { good, bad } = points[0]!;
  const place = `x="${(x(good) + 8).toFixed(1)}" y="${y(bad).toFixed(1)}"`;
  const label = `<text ${place}>default ${name}, over ${setting}</text>`;
  return [`<polyline points="${line}" class="line ${name}"/>`, ...marks, label].join('\n');
}

export function formatPlot({ halted, raised }: Frontier, scores: readonly Score[]): string {
  const others = scores.map((score, at) => {
    const { good, bad } = haltedShares(score);
    const isOurs = at < ourPresets;
    const label = isOurs ? score.name : letters[at - ourPresets];
    const box = `width="8" height="8" class="${isOurs ? 'preset' : 'peer'}"`;
    return (
      `<rect x="${(x(good) - 4).toFixed(1)}" y="${(y(bad) - 4).toFixed(1)}" ${box}/>` +
      `<text x="${(x(good) + 7).toFixed(1)}" y="${(y(bad) + 12).toFixed(1)}">${label}</text>`
    );
  });
  const legend = scores.slice(ourPresets).map(({ name }, at) => {
    const top = y(15) + 15 * at;
    return `<text x="${x(4.5)}" y="${top.toFixed(1)}">${letters[at]}  ${name}</text>`;
  });
  const ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 40].map(
    (value) => `<text x="${x(value).toFixed(1)}" y="${height - edge.bottom + 18}" class="tick">${value}</text>`,
  );
  const levels = [0, 10, 20, 30, 40].map((value) => {
    const at = y(value).toFixed(1);
    return (
      `<line x1="${edge.left}" x2="${width - edge.right}" y1="${at}" y2="${at}" class="grid"/>` +
      `<text x="${edge.left - 10}" y="${(y(value) + 4).toFixed(1)}" class="level">${value}</text>`
    );
  });
  const title = 'Bad runs halted or raised against good runs halted or raised';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<style>
  svg { background: #fff; }
  text { font: 11px system-ui, sans-serif; fill: #333; }
  .small { font-size: 9px; fill: #777; }
  .tick { text-anchor: middle; } .level { text-anchor: end; }
  .grid { stroke: #ddd; } .halted { fill: #059669; stroke: #059669; } .raised { fill: #2563eb; stroke: #2563eb; }
  .line { fill: none; } .preset { fill: #059669; } .peer { fill: #b45309; }
</style>
${levels.join('\n')}
${ticks.join('\n')}
<text x="${width / 2}" y="${height - 8}" class="tick">good runs, % (logarithmic)</text>
<text x="16" y="${height / 2}" class="tick" transform="rotate(-90 16 ${height / 2})">bad runs, %</text>
${drawLine(halted, 'halted', 'repeats')}
${drawLine(raised, 'raised', 'card_points')}
${others.join('\n')}
${legend.join('\n')}
</svg>
`;
}
