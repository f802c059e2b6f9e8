/** What lives on: bytes per instance, what is left after disposal, and what idle instances keep busy. */

import { createHook } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from '../bench-runner.ts';
import { fail, loadBreaker, loadGear, loadOpossum, succeed } from './library.ts';

/** Things that can be made in numbers, and done away with: one by one, then what they shared. */
interface Stock {
  make(at: number): unknown;
  end(item: unknown): void;
  close?(): void;
}

async function stockOf(kind: string): Promise<Stock> {
  switch (kind) {
    case 'breaker': {
      const { createBreaker } = await loadBreaker();
      return { make: () => createBreaker(), end: (item) => (item as Disposable)[Symbol.dispose]() };
    }
    case 'gear-breaker': {
      // A breaker of a gear begins to live with the first call of its tool.
      const gear = await quietGear();
      return {
        make(at) {
          const admission = gear.admit(`tool-${at}`, []);
          if (admission.refused === undefined) admission.settle({ value: 1 });
          return undefined;
        },
        end: () => {},
        close: () => gear.dispose(),
      };
    }
    case 'task': {
      const gear = await quietGear();
      return {
        make: () => gear.startTask(),
        end: (item) => (item as Disposable)[Symbol.dispose](),
        close: () => gear.dispose(),
      };
    }
    case 'opossum': {
      const CircuitBreaker = await loadOpossum();
      return { make: () => new CircuitBreaker(succeed, {}), end: (item) => (item as { shutdown(): void }).shutdown() };
    }
    case 'cockatiel': {
      const { circuitBreaker, CountBreaker, handleAll } = await import('cockatiel');
      const breaker = () => new CountBreaker({ threshold: 0.5, size: 100 });
      return { make: () => circuitBreaker(handleAll, { halfOpenAfter: 1_000, breaker: breaker() }), end: () => {} };
    }
    default:
      throw new Error(`there is no stock of ${JSON.stringify(kind)}`);
  }
}

async function quietGear() {
  const { createSwitchgear } = await loadGear();
  return createSwitchgear({ log: 'silent', env: {} });
}

interface Disposable {
  [Symbol.dispose](): void;
}

/** Arguments: what, and how many. Bytes per instance alive, after its end, and after the end of what they shared. */
export async function heap([kind = '', number = '100000']: readonly string[]): Promise<Figures> {
  const count = Number(number);
  await rehearse(kind, count);
  let stock: Stock | undefined = await stockOf(kind);
  const empty = await used();
  let items: unknown[] | undefined = new Array(count);
  const startNs = process.hrtime.bigint();
  for (let at = 0; at < count; at++) items[at] = stock.make(at);
  const makeNs = Number(process.hrtime.bigint() - startNs) / count;
  const full = (await used()) - count * 8;
  for (const item of items) stock.end(item);
  items = undefined;
  const ended = await used();
  stock.close?.();
  stock = undefined;
  const closed = await used();
  return {
    bytes: (full - empty) / count,
    leftAfterEnd: (ended - empty) / count,
    leftAfterClose: (closed - empty) / count,
    makeNs,
  };
}

/** Loads code and fills the engine's own caches, so that they are not taken for something left behind. */
async function rehearse(kind: string, count: number): Promise<void> {
  const stock = await stockOf(kind);
  for (let at = 0; at < count; at++) stock.end(stock.make(at));
  stock.close?.();
}

/** Bytes in use, after everything that can go is gone. */
export async function used(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await sleep(5);
    globalThis.gc?.();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Arguments: how many of each kind, and for how many milliseconds nobody calls them. Share of one core, in percent. */
export async function idle([number = '10000', duration = '3000', ...kinds]: readonly string[]): Promise<Figures> {
  const kept: unknown[] = [];
  for (const kind of kinds) {
    const stock = await stockOf(kind);
    for (let at = 0; at < Number(number); at++) kept.push(stock.make(at));
    kept.push(stock);
  }
  globalThis.gc?.();
  await sleep(500);
  const before = process.cpuUsage();
  await sleep(Number(duration));
  const { user, system } = process.cpuUsage(before);
  if (kept.length < kinds.length) throw new Error('what is measured was thrown away');
  return { percent: ((user + system) / 1_000 / Number(duration)) * 100 };
}

/** Timers made per breaker: when it is made, when a call succeeds, when one fails, when one may be timed out. */
export async function timers(): Promise<Figures> {
  const { createBreaker } = await loadBreaker();
  let seen = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'Timeout') seen++;
    },
  });
  const number = 1_000;
  const during = async (work: (at: number) => unknown) => {
    const before = seen;
    for (let at = 0; at < number; at++) await work(at);
    return (seen - before) / number;
  };
  const kept: ReturnType<typeof createBreaker>[] = [];
  const timed = Array.from({ length: number }, () => createBreaker({ timeoutSecs: 30 }));
  hook.enable();
  const made = await during((at) => {
    kept[at] = createBreaker();
  });
  const success = await during((at) => kept[at]!.execute(succeed, at));
  const failure = await during((at) => kept[at]!.execute(fail, at).catch(() => {}));
  const timeout = await during((at) => timed[at]!.execute(succeed, at));
  hook.disable();
  return { made, success, failure, timeout };
}
