/** The watchdog process: waits for the end of its input and then ends the process tree. */

import { watchdogGraceMs } from '../core/limits.ts';
import { systemClock } from '../platform/system-clock.ts';
import { endTree } from './end-tree.ts';
import { processTree } from './process-tree.ts';

/** The options of a watchdog. */
export interface WatchdogOptions {
  readonly mark: string;
  readonly ownsSession: boolean;
  readonly signal: 'SIGINT' | 'SIGTERM';
}

/** The message that tells the watchdog to exit. */
export const dismissed = 'dismissed';

/** The path of this file, to start it as a process. */
export const watchdogFile = import.meta.url;

export function runWatchdog(optionsJson: string): void {
  const { mark, ownsSession, signal } = JSON.parse(optionsJson) as WatchdogOptions;
  const tree = processTree(mark, ownsSession);
  let input = '';
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);
  process.stdin.on('data', (data) => {
    input += data;
    const [, pid] = /^(\d+)\n/.exec(input) ?? [];
    if (pid !== undefined && tree.root === undefined) tree.setRoot(Number(pid));
  });
  process.stdin.on('close', () => {
    if (!input.includes(dismissed)) void endTree(tree, systemClock, { signal, graceMs: watchdogGraceMs });
  });
  process.stdin.on('error', () => undefined);
}
