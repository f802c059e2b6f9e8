/**
 * The form of the attack suite and the count of its attempts: whole with `npm run attack`, short with `npm test`. Every
 * attempt of a test runs, and the test fails with all that did not hold.
 */

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';

/** Whether this is the whole form. */
export const isWhole = process.env.ATTACK_FORM === 'whole';

/** A test of the whole form alone: a variant of one that the short form has. */
export const wholeTest = (isWhole ? test : () => {}) as typeof test;

/** A hung attempt fails after this time instead of holding up the suite. */
const attemptMaxMs = 120_000;

export type Attempts<T> = readonly (readonly [name: string, attack: T])[];

/** A number by the form. */
export function byForm(whole: number, short: number): number {
  return isWhole ? whole : short;
}

/** Runs every attempt; in the short form, `short` of them, spread evenly over the list. */
export async function holdAll<T>(
  context: TestContext,
  attempts: Attempts<T>,
  run: (attack: T, name: string) => unknown,
  short = attempts.length,
): Promise<void> {
  const chosen = isWhole ? attempts : spread(attempts, short);
  const broken: string[] = [];
  for (const [name, attack] of chosen) {
    try {
      await inTime(run(attack, name));
    } catch (error) {
      broken.push(`${name}: ${messageOf(error)}`);
    }
  }
  countAttempts(context, chosen.length - broken.length);
  assert.ok(chosen.length > 0, 'no attempt was made');
  assert.equal(
    broken.length,
    0,
    `${broken.length} of ${chosen.length} attempts got through:\n  ${broken.join('\n  ')}`,
  );
}

/** Adds attempts that held to the count of the suite. */
export function countAttempts(context: TestContext, held: number): void {
  context.diagnostic(`${held} attempts held`);
  tell({ held });
}

/** Says what this machine cannot try; the last line of `npm run attack` repeats it. */
export function notTried(context: TestContext, reason: string): void {
  context.diagnostic(`not tried: ${reason}`);
  tell({ notTried: reason });
}

/** Waits until a condition holds; a loaded machine gets a minute. */
export async function waitFor(what: string, isSo: () => unknown, waitMaxMs = 60_000): Promise<void> {
  for (const untilMs = Date.now() + waitMaxMs; ; ) {
    if (await isSo()) return;
    if (Date.now() > untilMs) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function tell(line: object): void {
  const file = process.env.ATTACK_COUNTS;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`);
}

function spread<T>(attempts: Attempts<T>, count: number): Attempts<T> {
  const step = attempts.length / Math.min(count, attempts.length);
  return attempts.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

async function inTime(work: unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hung for ${attemptMaxMs / 1_000} s`)), attemptMaxMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function messageOf(error: unknown): string {
  try {
    return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 600);
  } catch {
    return 'threw a value without a text';
  }
}
