/** What tests of real processes need: waiting for something to be so, and knowing who carries a mark. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { carries, processes } from '../../src/supervisor/process-table.ts';

/** Waits until something is so; a test that waits for ever fails by its own timeout. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20);
}

/** The processes that were started with these words in their environment. */
export function marked(mark: string): readonly number[] {
  return processes().flatMap((each) => (carries(each, mark) ? [each.pid] : []));
}

/** The processes that were started with these words on their command line. */
export function named(words: string): readonly number[] {
  return processes().flatMap(({ pid }) => (commandLine(pid).includes(words) ? [pid] : []));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It ended meanwhile.
  }
}
