/** What tests of real processes need: waiting for something to be so, and knowing who carries a mark. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnvironmentMark, listProcesses } from '../../src/supervisor/process-table.ts';

/** Waits until something is so; what never comes is an error, not a test that hangs. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let looks = 0; !isSo(); looks++) {
    if (looks > 3_000) throw new Error(`waited in vain until ${isSo}`);
    await sleep(20);
  }
}

/** A command that does nothing for a long time, unlike any other one: `name` is what its command line holds. */
export function sleeper(): { readonly command: string; readonly name: string } {
  const seconds = `${1_000 + process.pid}.${++sleepers}`;
  return { command: `sleep ${seconds}`, name: ['sleep', seconds].join('\0') };
}

let sleepers = 0;

/** The processes that were started with these words in their environment. */
export function marked(mark: string): readonly number[] {
  return listProcesses().flatMap((each) => (hasEnvironmentMark(each, mark) ? [each.pid] : []));
}

/** The processes that were started with these words on their command line. */
export function named(words: string): readonly number[] {
  return listProcesses().flatMap(({ pid }) => (commandLine(pid).includes(words) ? [pid] : []));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It ended meanwhile.
  }
}
