/** What the figures of a detector are held against: what a false halt cost, chance, and how far luck moves a share. */

import { seeded } from '../../src/testing/transaction-fixtures.ts';
import { type Run, wholeText } from './runs.ts';

/** What a good run still did after the event at which it was halted: got a new result, said something, or neither. */
export type Loss = 'work' | 'text' | 'nothing';

export function findLoss({ events }: Run, halted: number): Loss {
  const calls = new Map<string, string>();
  const seen = new Set<string>();
  let isNew = false;
  events.forEach((event, index) => {
    if (event.type === 'tool_call') calls.set(event.id, `${event.name}\n${event.args}`);
    if (event.type !== 'tool_result') return;
    const key = `${calls.get(event.id)}\n${wholeText(event)}`;
    if (index > halted) isNew ||= !seen.has(key);
    else seen.add(key);
  });
  if (isNew) return 'work';
  return halted < events.length - 1 && events.at(-1)!.type === 'assistant' ? 'text' : 'nothing';
}

const countTurns = ({ events }: Run, until: number) =>
  events.slice(0, until).filter(({ type }) => type === 'assistant').length;

/** The share of good runs among those of the same source and mode that are still going at the turn of the halt. */
export function createChance(runs: readonly Run[]): (run: Run, halted: number) => number {
  const groups = new Map<string, { turns: number; isGood: boolean }[]>();
  const keyOf = ({ source, mode }: Run) => `${source}/${mode}`;
  for (const run of runs) {
    if (run.outcome === 'unknown') continue;
    if (!groups.has(keyOf(run))) groups.set(keyOf(run), []);
    groups.get(keyOf(run))!.push({ turns: countTurns(run, run.events.length), isGood: run.outcome === 'success' });
  }
  return (run, halted) => {
    const turn = countTurns(run, halted + 1);
    const going = groups.get(keyOf(run))!.filter(({ turns }) => turns >= turn);
    return going.filter(({ isGood }) => isGood).length / going.length;
  };
}

const samples = 1000;

/** The 95 % bootstrap interval of the share that parts have in wholes, in percent; the same one at every time. */
export function findInterval(parts: readonly number[], wholes: readonly number[]): readonly [number, number] {
  const random = seeded(1);
  const shares = Array.from({ length: samples }, () => {
    let [part, whole] = [0, 0];
    for (let draw = 0; draw < wholes.length; draw++) {
      const at = random(wholes.length);
      part += parts[at]!;
      whole += wholes[at]!;
    }
    return whole === 0 ? 0 : (100 * part) / whole;
  }).sort((a, b) => a - b);
  return [shares[Math.floor(0.025 * samples)]!, shares[Math.ceil(0.975 * samples) - 1]!];
}
