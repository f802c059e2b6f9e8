/** What a detector did to many runs: good ones ended, bad ones ended, and what of the bad ones came after. */

import type { Counters } from '../../src/core/verdict.ts';
import type { Detector } from './detector.ts';
import type { Run } from './runs.ts';
import { createChance, findInterval, findLoss, type Loss } from './yardstick.ts';

/** A good run that was halted. */
interface FalseHalt {
  readonly source: string;
  readonly run: string;
  readonly event: number;
  readonly events: number;
  readonly code: string | undefined;
  readonly counters: Counters | undefined;
  readonly lost: Loss;
}

export interface Score {
  readonly name: string;
  readonly isPolicy: boolean;
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
  /** Runs that were halted, or of which a person got a card. */
  goodRaised: number;
  badRaised: number;
  falseHalts: FalseHalt[];
  /** Good runs that as many halts at the same turns of the same sources would hit by chance. */
  goodByChance: number;
  /** The counts without InterCode, which has most of the bad runs that are ever halted. */
  elsewhere: Record<'goodTotal' | 'goodHalted' | 'badTotal' | 'badHalted', number>;
  /** Share of the events of bad runs, and of the tokens read again in them, that came after the end. */
  eventsSavedPct: number;
  tokensSavedPct: number;
  /** The 95 % interval of that, and the mean of the shares that each bad run saved. */
  tokensSavedInterval: readonly [number, number];
  meanSavedPct: number;
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
  /** Of each bad run. */
  readonly tokens: number[];
  readonly tokensAfter: number[];
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

const sum = (numbers: ArrayLike<number>, from = 0) => {
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
  const chance = createChance(runs);
  runs.forEach((run, done) => {
    const group = groupOf?.(run) ?? '';
    if (!tallies.has(group))
      tallies.set(
        group,
        detectors.map((detector) => newTally(detector, groupOf && group)),
      );
    const rereadTokens = contextTokens(run);
    detectors.forEach((detector, at) => {
      recordRun(tallies.get(group)![at]!, run, rereadTokens, detector, chance);
    });
    progress(done + 1);
  });
  return [...tallies.keys()].sort().flatMap((group) => tallies.get(group)!.map(finish));
}

function newTally({ name, isPolicy = false }: Detector, group: string | undefined): Tally {
  const score: Score = {
    name,
    isPolicy,
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
    goodRaised: 0,
    badRaised: 0,
    falseHalts: [],
    goodByChance: 0,
    elsewhere: { goodTotal: 0, goodHalted: 0, badTotal: 0, badHalted: 0 },
    eventsSavedPct: 0,
    tokensSavedPct: 0,
    tokensSavedInterval: [0, 0],
    meanSavedPct: 0,
    goodHaltAtPct: null,
    badHaltAtPct: null,
    codes: {},
  };
  return { score, goodAt: [], badAt: [], events: 0, eventsAfter: 0, tokens: [], tokensAfter: [] };
}

function recordRun(
  tally: Tally,
  run: Run,
  rereadTokens: Float64Array,
  detector: Detector,
  chance: (run: Run, halted: number) => number,
): void {
  const { score } = tally;
  const { source, run_id } = run;
  const watch = detector.watch(run);
  const halted = run.events.findIndex((event, index) => watch.see(event, index));
  const position = (100 * (halted + 1)) / run.events.length;
  if (halted >= 0 && watch.code) score.codes[watch.code] = (score.codes[watch.code] ?? 0) + 1;
  if (run.outcome === 'unknown') {
    score.unknownTotal++;
    if (halted >= 0) score.unknownHalted++;
    return;
  }
  const isElsewhere = source !== 'intercode';
  if (halted >= 0) score.goodByChance += chance(run, halted);
  if (run.outcome === 'success') {
    score.goodTotal++;
    if (isElsewhere) score.elsewhere.goodTotal++;
    if (halted >= 0 || watch.carded) score.goodRaised++;
    if (watch.nudged) score.goodNudged++;
    if (watch.denied) score.goodDenied++;
    if (halted < 0) return;
    score.goodHalted++;
    if (isElsewhere) score.elsewhere.goodHalted++;
    const lost = findLoss(run, halted);
    const { code, counters } = watch;
    score.falseHalts.push({ source, run: run_id, event: halted + 1, events: run.events.length, code, counters, lost });
    tally.goodAt.push(position);
    return;
  }
  score.badTotal++;
  if (isElsewhere) score.elsewhere.badTotal++;
  if (halted >= 0 || watch.carded) score.badRaised++;
  if (watch.nudged) score.badNudged++;
  tally.events += run.events.length;
  tally.tokens.push(sum(rereadTokens));
  tally.tokensAfter.push(halted < 0 ? 0 : sum(rereadTokens, halted + 1));
  if (halted < 0) return;
  score.badHalted++;
  if (isElsewhere) score.elsewhere.badHalted++;
  tally.badAt.push(position);
  tally.eventsAfter += run.events.length - 1 - halted;
}

function finish({ score, goodAt, badAt, events, eventsAfter, tokens, tokensAfter }: Tally): Score {
  const share = (part: number, whole: number) => (whole === 0 ? 0 : Math.round((1000 * part) / whole) / 10);
  score.eventsSavedPct = share(eventsAfter, events);
  score.tokensSavedPct = share(sum(tokensAfter), sum(tokens));
  score.tokensSavedInterval = findInterval(tokensAfter, tokens);
  score.meanSavedPct = share(sum(tokensAfter.map((after, at) => after / Math.max(1, tokens[at]!))), tokens.length);
  score.goodHaltAtPct = middle(goodAt);
  score.badHaltAtPct = middle(badAt);
  return score;
}
