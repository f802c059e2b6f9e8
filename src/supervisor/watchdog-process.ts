/**
 * The watchdog process: ends the process tree when its input ends, or when the supervisor stays silent. A suspended
 * supervisor is continued first.
 */

import { rmSync } from 'node:fs';
import {
  watchdogAnswerMs,
  watchdogBeatMs,
  watchdogGraceMs,
  watchdogHungMs,
  watchdogRelapseMs,
  watchdogSilenceMs,
} from '../core/limits.ts';
import { startInterval } from '../platform/machine-clock.ts';
import { systemClock } from '../platform/system-clock.ts';
import { endTree } from './end-tree.ts';
import { isSuspended } from './process-table.ts';
import { type ProcessTree, processTree, type TreeMember } from './process-tree.ts';

/** The options of a watchdog. */
export interface WatchdogOptions {
  readonly mark: string;
  readonly ownsSession: boolean;
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** A file that is deleted with the tree. */
  readonly file?: string | undefined;
}

/** A line from the supervisor; an empty object is a beat. */
export interface SupervisorLine {
  readonly root?: TreeMember;
  readonly members?: readonly TreeMember[];
  /** The supervisor ends normally, and the watchdog exits. */
  readonly done?: boolean;
}

/** A line from the watchdog: a beat, or what it did. */
export type WatchdogLine = 'beat' | 'continued' | 'ended';

/** The path of this file, to start it as a process. */
export const watchdogFile = import.meta.url;

export function runWatchdog(optionsJson: string, supervisorPid: string): void {
  const options = JSON.parse(optionsJson) as WatchdogOptions;
  const tree = processTree(options.mark, options.ownsSession);
  let isDone = false;
  let ending: Promise<void> | undefined;
  const say = (line: WatchdogLine) => void process.stdout.write(`${line}\n`);
  const end = () => {
    ending ??= endTree(tree, systemClock, { signal: options.signal, graceMs: watchdogGraceMs }).then(() => {
      if (options.file !== undefined) rmSync(options.file, { force: true });
    });
    return ending;
  };
  const silence = createSilence(tree, Number(supervisorPid), say, end);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);
  process.stdout.on('error', () => undefined); // The supervisor is gone, which the end of the input reports.
  readLines((line) => {
    silence.heard();
    if (line.root !== undefined) tree.setRoot(...line.root);
    if (line.members !== undefined) tree.addMembers(line.members);
    isDone ||= line.done === true;
  });
  process.stdin.on('close', async () => {
    stopBeat();
    if (!isDone) await end();
    process.exit();
  });
  process.stdin.on('error', () => undefined);
  const stopBeat = startInterval(watchdogBeatMs, () => {
    say('beat');
    if (ending === undefined) silence.check();
  });
  say('beat');
}

function readLines(onLine: (line: SupervisorLine) => void): void {
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) onLine(JSON.parse(line) as SupervisorLine);
  });
}

/** Decides what to do about a supervisor that does not beat. */
function createSilence(
  tree: ProcessTree,
  supervisor: number,
  say: (line: WatchdogLine) => void,
  end: () => Promise<void>,
) {
  const { nowMs } = systemClock;
  let heardMs = nowMs();
  let checkedMs = nowMs();
  let continuedMs: number | undefined;
  let recoveredMs = Number.NEGATIVE_INFINITY;

  /** Ends the tree of a supervisor that cannot do it, and continues the supervisor, which reports it. */
  async function endAndReport(): Promise<void> {
    await end();
    say('ended');
    sendSignal(supervisor, 'SIGCONT');
  }

  return {
    heard() {
      heardMs = nowMs();
      if (continuedMs === undefined) return;
      continuedMs = undefined;
      recoveredMs = heardMs;
      say('continued');
    },
    check() {
      const atMs = nowMs();
      if (atMs - checkedMs > 3 * watchdogBeatMs) heardMs = atMs; // This process itself was suspended or starved.
      checkedMs = atMs;
      const silentMs = atMs - heardMs;
      if (silentMs < watchdogSilenceMs) return;
      // Job control suspends supervisor and tree together; then nothing runs that must be watched.
      const isRunning = tree.scan().some(({ pid }) => !isSuspended(pid));
      if (!isRunning) return;
      if (!isSuspended(supervisor)) {
        if (silentMs > watchdogHungMs) void endAndReport();
      } else if (atMs - recoveredMs < watchdogRelapseMs) void endAndReport();
      else if (continuedMs === undefined) {
        continuedMs = atMs;
        sendSignal(supervisor, 'SIGCONT');
      } else if (atMs - continuedMs > watchdogAnswerMs) void endAndReport();
    },
  };
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The supervisor is gone, which the end of the input reports.
  }
}
