/** The contenders' code: the library compiled by the workshop, and the peers. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const dist = process.env.SWITCHGEAR_BENCH_DIST ?? '';

export async function loadBreaker(): Promise<typeof import('../../src/breaker.ts')> {
  return import(pathToFileURL(join(dist, 'breaker.js')).href);
}

export async function loadGear(): Promise<typeof import('../../src/index.ts')> {
  return import(pathToFileURL(join(dist, 'index.js')).href);
}

/** The part of opossum that is measured; it ships no types. */
export interface Opossum {
  fire(...args: readonly unknown[]): Promise<unknown>;
  open(): void;
  shutdown(): void;
}

export type OpossumClass = new (
  fn: (...args: never[]) => unknown,
  options: Readonly<Record<string, unknown>>,
) => Opossum;

export async function loadOpossum(): Promise<OpossumClass> {
  const name: string = 'opossum';
  const { default: CircuitBreaker } = (await import(name)) as { readonly default: OpossumClass };
  return CircuitBreaker;
}

/** The calls that everybody guards. The error is made once: its making is not what is measured. */
const boom = new Error('boom');

export async function succeed(at: number): Promise<number> {
  return at;
}

export async function fail(_at: number): Promise<number> {
  throw boom;
}

/** The stores that processes share. */
export async function loadStores() {
  const [{ sqliteStore }, { redisStore }] = await Promise.all([
    load<typeof import('../../src/stores/sqlite/index.ts')>('stores/sqlite/index.js'),
    load<typeof import('../../src/stores/redis/index.ts')>('stores/redis/index.js'),
  ]);
  return { sqliteStore, redisStore };
}

/** The parts of the core that decide on a breaker. */
export async function loadCore() {
  const [{ breaker }, { defaultBreaker }, { openBreaker }, { initialBreaker }, { allow }] = await Promise.all([
    load<typeof import('../../src/core/controls/breaker/control.ts')>('core/controls/breaker/control.js'),
    load<typeof import('../../src/core/controls/breaker/defaults.ts')>('core/controls/breaker/defaults.js'),
    load<typeof import('../../src/core/controls/breaker/phases.ts')>('core/controls/breaker/phases.js'),
    load<typeof import('../../src/core/controls/breaker/state.ts')>('core/controls/breaker/state.js'),
    load<typeof import('../../src/core/verdict.ts')>('core/verdict.js'),
  ]);
  return { breaker, defaultBreaker, openBreaker, initialBreaker, allow };
}

function load<T>(file: string): Promise<T> {
  return import(pathToFileURL(join(dist, file)).href) as Promise<T>;
}
