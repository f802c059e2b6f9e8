/** Exact counts per successful call: promises, timers, turns of the microtask queue, bytes. The same on any machine. */

import { createHook } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { type Figures, median } from '../bench-runner.ts';
import { contender } from './contenders.ts';
import { longTask } from './guard.ts';
import { loadGear, succeed } from './library.ts';
import type { Call } from './slices.ts';

/** Argument: a contender, or `guard` for the whole default guard in a task. */
export async function counts([name = '']: readonly string[]): Promise<Figures> {
  if (name !== 'guard') return countCall((await contender(name)).ok);
  const { createSwitchgear } = await loadGear();
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const guarded = gear.guard('succeed', succeed);
  const result = await gear.task(longTask, () => countCall((at) => guarded(at)));
  if (result.status === 'halted') throw new Error(result.halt.message);
  return result.value;
}

/** Counts one kind of call. Bytes want a young generation that nothing is collected from meanwhile. */
export async function countCall(call: Call): Promise<Figures> {
  await calls(call, 200_000);
  const bytes = await countBytes(call);
  const hops = await countHops(call);
  return { ...(await countAllocations(call)), hops, bytes };
}

async function calls(call: Call, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await call(at);
}

/** Turns of the microtask queue from the call to its caller's continuation, by a rival that counts them. */
async function countHops(call: Call): Promise<number> {
  let hops = 0;
  let counting = false;
  const count = () => {
    if (!counting) return;
    hops++;
    queueMicrotask(count);
  };
  const rounds = 50;
  for (let at = 0; at < rounds; at++) {
    await turn();
    counting = true;
    queueMicrotask(count);
    await call(at);
    counting = false;
  }
  return hops / rounds;
}

async function countBytes(call: Call): Promise<number> {
  const count = 4_000;
  const sizes: number[] = [];
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.();
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    await calls(call, count);
    sizes.push((process.memoryUsage().heapUsed - before) / count);
  }
  return Math.round(median(sizes));
}

/** Promises and timers, as the engine's hooks see them; they also report the engine's own promise of every await. */
async function countAllocations(call: Call): Promise<{ readonly promises: number; readonly timers: number }> {
  const count = 2_000;
  let promises = 0;
  let timers = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') promises++;
      else if (type === 'Timeout') timers++;
    },
  });
  hook.enable();
  await calls(call, count);
  hook.disable();
  return { promises: Math.round(promises / count), timers: Math.round((timers / count) * 10) / 10 };
}
