/** How many bad runs are found at the price of how many good ones, over the threshold: a plot, peers as points. */

import { createPolicyDetector } from './policy-detector.ts';
import type { Run } from './runs.ts';
import { type Score, scoreAll } from './score.ts';

export interface FrontierPoint {
  readonly haltPoints: number;
  readonly good: number;
  readonly bad: number;
}

const thresholds = [10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40];

export function computeFrontier(runs: readonly Run[], progress: (done: number) => void): readonly FrontierPoint[] {
  return thresholds.map((haltPoints, done) => {
    const points = { halt_points: haltPoints, refuse_points: haltPoints, note_points: haltPoints };
    const [score] = scoreAll(runs, [createPolicyDetector(`${haltPoints}`, { loop: points })], undefined);
    progress(done + 1);
    return { haltPoints, ...shares(score!) };
  });
}

function shares({ goodHalted, goodTotal, badHalted, badTotal }: Score): { good: number; bad: number } {
  return { good: (100 * goodHalted) / Math.max(1, goodTotal), bad: (100 * badHalted) / Math.max(1, badTotal) };
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

export function formatPlot(points: readonly FrontierPoint[], scores: readonly Score[]): string {
  const line = points.map(({ good, bad }) => `${x(good).toFixed(1)},${y(bad).toFixed(1)}`).join(' ');
  const marks = points.map(
    ({ haltPoints, good, bad }) =>
      `<circle cx="${x(good).toFixed(1)}" cy="${y(bad).toFixed(1)}" r="3" class="ours"/>` +
      `<text x="${(x(good) - 6).toFixed(1)}" y="${(y(bad) - 7).toFixed(1)}" class="small">${haltPoints}</text>`,
  );
  const others = scores.map((score, at) => {
    const { good, bad } = shares(score);
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
  const title = 'Bad runs halted against good runs halted';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<style>
  svg { background: #fff; }
  text { font: 11px system-ui, sans-serif; fill: #333; }
  .small { font-size: 9px; fill: #777; }
  .tick { text-anchor: middle; } .level { text-anchor: end; }
  .grid { stroke: #ddd; } .line { fill: none; stroke: #2563eb; }
  .ours { fill: #2563eb; } .preset { fill: #059669; } .peer { fill: #b45309; }
</style>
${levels.join('\n')}
${ticks.join('\n')}
<text x="${width / 2}" y="${height - 8}" class="tick">good runs halted, % (logarithmic)</text>
<text x="16" y="${height / 2}" class="tick" transform="rotate(-90 16 ${height / 2})">bad runs halted, %</text>
<polyline points="${line}" class="line"/>
${marks.join('\n')}
${others.join('\n')}
${legend.join('\n')}
</svg>
`;
}
