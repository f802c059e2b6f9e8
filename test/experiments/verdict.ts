/** What an experiment says in the end: counts that must be zero, figures, and times that the machine may excuse. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Verdict {
  readonly name: string;
  readonly seed: number;
  readonly passed: boolean;
  /** What went wrong, in words; empty where nothing did. */
  readonly faults: readonly string[];
  readonly figures: Readonly<Record<string, number | string>>;
}

/** How an experiment is run: the short form with every test, the long one by name. */
export interface Form {
  readonly short: boolean;
  readonly seed: number;
}

export interface Report {
  readonly faults: string[];
  readonly figures: Record<string, number | string>;
  fault(condition: boolean, text: string): void;
  /** A time that was too long: a fault of the long form alone, since tests assert no times. */
  late(condition: boolean, text: string): void;
}

export function report({ short }: Form): Report {
  const faults: string[] = [];
  return {
    faults,
    figures: {},
    fault(condition, text) {
      if (condition && faults.length < 20) faults.push(text);
    },
    late(condition, text) {
      if (!short) this.fault(condition, text);
      else if (condition) this.figures[text] = 'late';
    },
  };
}

export function verdictOf(name: string, { seed }: Form, { faults, figures }: Report): Verdict {
  return { name, seed, passed: faults.length === 0, faults, figures };
}

/** A number in [0, below), the same for the same seed. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * below);
  };
}

export interface Child {
  readonly process: ChildProcess;
  /** Asks, and waits for the answer. */
  ask<T>(message: unknown): Promise<T>;
  kill(): Promise<void>;
}

const living = new Set<ChildProcess>();
/** What one process compiled, the next need not: most of the life of a short one is its start. */
const compiled = join(import.meta.dirname, '../../node_modules/.cache/experiments');

/** Ends whatever an experiment left running. */
export function endChildren(): void {
  for (const child of living) child.kill('SIGKILL');
  living.clear();
}

/** A process of its own that answers one question at a time. */
export async function startChild(
  file: string,
  role: unknown,
  env: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(role)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { NODE_COMPILE_CACHE: compiled, ...process.env, ...env },
  });
  living.add(child);
  child.once('exit', () => living.delete(child));
  // One that ends by itself must not leave whoever waits for it waiting.
  const left = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended by itself (${String(code)})`);
  });
  left.catch(() => undefined);
  await Promise.race([once(child, 'message'), left]);
  return {
    process: child,
    async ask<T>(message: unknown): Promise<T> {
      const answer = once(child, 'message');
      child.send(message as object);
      return (await Promise.race([answer, left]))[0] as T;
    },
    async kill() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** A folder that is gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-experiment-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The longest stall of an idle process while something runs: what the machine does to anybody. */
export async function idleTwin(): Promise<() => Promise<number>> {
  const twin = await startChild('idle-child.ts', {});
  return async () => {
    const longest = await twin.ask<number>('longest');
    await twin.kill();
    return longest;
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
