/** A reporter of `node --test`: writes how many tests passed, failed and were skipped, and why. */

import type { TestEvent } from 'node:test/reporters';

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The files with a test that failed, and the titles of these tests. */
  readonly failedFiles: Readonly<Record<string, readonly string[]>>;
  /** How many tests were skipped for each reason. */
  readonly reasons: Readonly<Record<string, number>>;
}

export default async function* countReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const reasons: Record<string, number> = {};
  const failedFiles: Record<string, string[]> = {};
  for await (const { type, data } of events) {
    if (type === 'test:pass' && data.skip !== undefined && data.details.type !== 'suite') {
      const reason = typeof data.skip === 'string' ? data.skip : 'no reason is given';
      reasons[reason] = (reasons[reason] ?? 0) + 1;
    }
    if (type === 'test:fail' && data.file !== undefined && data.todo === undefined && data.skip === undefined) {
      failedFiles[data.file] ??= [];
      failedFiles[data.file]!.push(data.name);
    }
    // Each file has a summary of its own; the one of all has no file.
    if (type !== 'test:summary' || data.file !== undefined) continue;
    const { tests, passed, skipped, todo } = data.counts;
    yield JSON.stringify({
      passed,
      failed: tests - passed - skipped - todo,
      skipped,
      failedFiles,
      reasons,
    } satisfies Tally);
  }
}
