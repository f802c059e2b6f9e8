/** What a detector did to many runs: good ones ended, bad ones ended, and what of the bad ones came after. */

import type { Detector } from './detector.ts';
import type { Run } from './runs.ts';

export interface Score {
  readonly name: string;
  group?: string;
  goodTotal: number;
  goodHalted: number;
  badTotal: number;
  badHalted: number;
  unknownTotal: number;
  unknownHalted: number;
  /** Good runs in which the model was told, and in which a call would have been refused. */
  goodNudged: number;
  goodDenied: number;
  badNudged: number;
  /** Share of the events of bad runs, and of the tokens read again in them, that came after the end. */
  eventsSavedPct: number;
  tokensSavedPct: number;
  /** Where runs were ended, in percent of their events: the middle one. */
  goodHaltAtPct: number | null;
  badHaltAtPct: number | null;
  codes: Record<string, number>;
}

interface Tally {
  readonly score: Score;
  readonly goodAt: number[];
  readonly badAt: number[];
  events: number;
  eventsAfter: number;
  tokens: number;
  tokensAfter: number;
}

/** What each model call reads again: everything before it. */
function contextTokens(run: Run): Float64Array {
  const rereadTokens = new Float64Array(run.events.length);
  let before = 0;
  run.events.forEach((event, index) => {
    if (event.type === 'assistant') rereadTokens[index] = before;
    before += event.tokens ?? Math.ceil((event.type === 'tool_call' ? event.args : event.text).length / 4);
  });
  return rereadTokens;
}

const sum = (numbers: Float64Array, from: number) => {
  let total = 0;
  for (let at = from; at < numbers.length; at++) total += numbers[at]!;
  return total;
};

const middle = (numbers: readonly number[]) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted.length === 0 ? null : Math.round(sorted[sorted.length >> 1]!);
};

/** Shows every run to every detector. With `groupOf` there is a score per group. */
export function scoreAll(
  runs: readonly Run[],
  detectors: readonly Detector[],
  groupOf: ((run: Run) => string) | undefined,
  progress: (done: number) => void = () => {},
): readonly Score[] {
  const tallies = new Map<string, Tally[]>();
  runs.forEach((run, done) => {
    const group = groupOf?.(run) ?? '';
    if (!tallies.has(group))
      tallies.set(
        group,
        detectors.map(({ name }) => newTally(name, groupOf && group)),
      );
    const rereadTokens = contextTokens(run);
    detectors.forEach((detector, at) => {
      recordRun(tallies.get(group)![at]!, run, rereadTokens, detector);
    });
    progress(done + 1);
  });
  return [...tallies.keys()].sort().flatMap((group) => tallies.get(group)!.map(finish));
}

function newTally(name: string, group: string | undefined): Tally {
  const score: Score = {
    name,
    ...(group === undefined ? {} : { group }),
    goodTotal: 0,
    goodHalted: 0,
    badTotal: 0,
    badHalted: 0,
    unknownTotal: 0,
    unknownHalted: 0,
    goodNudged: 0,
    goodDenied: 0,
    badNudged: 0,
    eventsSavedPct: 0,
    tokensSavedPct: 0,
    goodHaltAtPct: null,
    badHaltAtPct: null,
    codes: {},
  };
  return { score, goodAt: [], badAt: [], events: 0, eventsAfter: 0, tokens: 0, tokensAfter: 0 };
}

function recordRun(tally: Tally, run: Run, rereadTokens: Float64Array, detector: Detector): void {
  const { score } = tally;
  const watch = detector.watch(run);
  const halted = run.events.findIndex((event, index) => watch.see(event, index));
  const position = (100 * (halted + 1)) / run.events.length;
  if (halted >= 0 && watch.code) score.codes[watch.code] = (score.codes[watch.code] ?? 0) + 1;
  if (run.outcome === 'unknown') {
    score.unknownTotal++;
    if (halted >= 0) score.unknownHalted++;
    return;
  }
  if (run.outcome === 'success') {
    score.goodTotal++;
    if (watch.nudged) score.goodNudged++;
    if (watch.denied) score.goodDenied++;
    if (halted < 0) return;
    score.goodHalted++;
    tally.goodAt.push(position);
    return;
  }
  score.badTotal++;
  if (watch.nudged) score.badNudged++;
  tally.events += run.events.length;
  tally.tokens += sum(rereadTokens, 0);
  if (halted < 0) return;
  score.badHalted++;
  tally.badAt.push(position);
  tally.eventsAfter += run.events.length - 1 - halted;
  tally.tokensAfter += sum(rereadTokens, halted + 1);
}

function finish({ score, goodAt, badAt, events, eventsAfter, tokens, tokensAfter }: Tally): Score {
  const share = (part: number, whole: number) => (whole === 0 ? 0 : Math.round((1000 * part) / whole) / 10);
  score.eventsSavedPct = share(eventsAfter, events);
  score.tokensSavedPct = share(tokensAfter, tokens);
  score.goodHaltAtPct = middle(goodAt);
  score.badHaltAtPct = middle(badAt);
  return score;
}
