/** What the whole default guard adds to an async tool inside a task, next to opossum's failure path. */

import type { Figures } from '../bench-runner.ts';
import { contender } from './contenders.ts';
import { loadGear } from './library.ts';
import { type Side, timeSides } from './slices.ts';

/** Calls that no task is given by default: only the number is raised, every control stays on. */
export const longTask = { limits: { maxToolCalls: 1_000_000_000 } } as const;

/** Arguments of about 150 bytes and results of about 1 kB, as a search tool has them. */
const requests = Array.from({ length: 16 }, (_, at) => ({
  query: `history of circuit breakers in distributed systems, part ${at}`,
  filters: { language: 'en', since: '2024-01-01', kind: 'article' },
  limit: 10 + at,
}));
const answers = Array.from({ length: 16 }, (_, at) => ({
  total: 6_120 + at,
  hits: Array.from({ length: 6 }, (_item, rank) => ({
    title: `Result ${rank} of page ${at}: how a breaker opens`,
    url: `https://example.org/articles/${at}/${rank}`,
    text: 'A breaker that is open lets nothing pass until its time has come.',
    score: 0.93 - rank / 100,
  })),
}));

async function nothing(): Promise<void> {}

async function search(request: object): Promise<object> {
  return answers[requests.indexOf(request as (typeof requests)[number])]!;
}

/** Argument: `empty` or `filled`. Figures in nanoseconds; `addedNs` is what the guard costs. */
export async function guardSpeed([kind = 'empty']: readonly string[]): Promise<Figures> {
  const { createSwitchgear, isRefused } = await loadGear();
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const filled = kind === 'filled';
  // The same call over and over is a loop, and would be ended; a tool that waits is looked at all the same.
  const tool = filled ? gear.guard('wait_search', search) : gear.guard('wait', nothing);
  const call = tool as (request?: object) => Promise<unknown>;
  const peer = await contender('opossum/lean');
  const sides: readonly Side[] = [
    { call: filled ? (at) => search(requests[at & 15]!) : () => nothing(), shape: 'await' },
    { call: filled ? (at) => call(requests[at & 15]!) : () => call(), shape: 'await' },
    { call: peer.bad, shape: 'catch', calls: 100 },
  ];
  const result = await gear.task(longTask, async () => {
    const first = await sides[1]!.call(0);
    if (isRefused(first)) throw new Error(`the first call was refused: ${first.error}`);
    return timeSides(sides);
  });
  if (result.status === 'halted') throw new Error(`the task was halted: ${result.halt.message}`);
  const [bareNs = 0, guardedNs = 0, opossumNs = 0] = result.value;
  return {
    bareNs,
    guardedNs,
    addedNs: guardedNs - bareNs,
    opossumNs,
    argumentBytes: filled ? JSON.stringify(requests[0]).length : 0,
    resultBytes: filled ? JSON.stringify(answers[0]).length : 0,
  };
}
