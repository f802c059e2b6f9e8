/** Times calls against each other: slices of every side alternate in one process, so that its moods hit all alike. */

import { median } from '../bench-runner.ts';

export type Call = (at: number) => unknown;

/** How a call is made: one awaited after the other, with its failure caught, 256 in flight, or without a promise. */
export type Shape = 'await' | 'catch' | 'batch' | 'sync';

export interface Side {
  readonly call: Call;
  readonly shape: Shape;
  /** Calls per slice, where the cost depends on how many were made. */
  readonly calls?: number;
}

const slices = 15;
const batch = 256;
const runMs = Number(process.env.SWITCHGEAR_BENCH_MS ?? 400);
const warmNs = Math.min(150, runMs) * 1e6;
const sliceMs = runMs / slices / 2;

const bodies: Readonly<Record<Shape, string>> = {
  await: 'for (let i = 0; i < n; i++) await call(i);',
  catch: 'for (let i = 0; i < n; i++) { try { await call(i); } catch {} }',
  batch: `const all = new Array(${batch});
    for (let i = 0; i < n; i += ${batch}) {
      for (let j = 0; j < ${batch}; j++) all[j] = call(j);
      await Promise.all(all);
    }`,
  sync: 'for (let i = 0; i < n; i++) if (call(i) === undefined) throw new Error("nothing came back");',
};

type Loop = (call: Call, n: number) => Promise<number>;

/** Each loop is compiled afresh: two of them share no type feedback. */
function loopOf(shape: Shape): Loop {
  const text = `return async (call, n) => {
    const start = now();
    ${bodies[shape]}
    return Number(now() - start) / n;
  };`;
  return new Function('now', text)(process.hrtime.bigint) as Loop;
}

/** Nanoseconds per call of each side. */
export async function timeSides(sides: readonly Side[]): Promise<readonly number[]> {
  const tracks = [];
  for (const side of sides) {
    const loop = loopOf(side.shape);
    const calls = side.calls ?? (await warm(loop, side));
    if (side.calls !== undefined) for (let turn = 0; turn < 5; turn++) await loop(side.call, calls);
    tracks.push({ loop, call: side.call, calls, times: [] as number[] });
  }
  globalThis.gc?.();
  for (let slice = 0; slice < slices; slice++) {
    for (const { loop, call, calls, times } of tracks) times.push(await loop(call, calls));
  }
  return tracks.map(({ times }) => median(times));
}

/** Runs a side until the optimising compiler has seen it; returns how many calls fill a slice. */
async function warm(loop: Loop, { call, shape }: Side): Promise<number> {
  const unit = shape === 'batch' ? batch : 1;
  const until = process.hrtime.bigint() + BigInt(warmNs);
  let perCall = 1;
  for (let calls = unit; process.hrtime.bigint() < until; calls = Math.min(calls * 2, 16_384)) {
    perCall = Math.max(1, await loop(call, calls));
  }
  return Math.ceil((sliceMs * 1e6) / perCall / unit) * unit;
}
