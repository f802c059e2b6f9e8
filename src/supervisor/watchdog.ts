/**
 * A small process that outlives the supervisor: it holds the end of a pipe, and when that breaks without a word, the
 * supervisor was killed, and nobody watches the agent any more. Then the agent is ended.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { dismissed, runWatchdog, type WatchdogOptions, watchdogFile } from './watchdog-process.ts';

export interface Watchdog {
  /** Says which process the command is. */
  setRoot(pid: number): void;
  /** Sends it away: everything ended as it should. */
  dismiss(): void;
}

/** Starts the watchdog, before there is something to watch. */
export function startWatchdog(options: WatchdogOptions): Watchdog {
  const script = `import(${JSON.stringify(watchdogFile)}).then((file) => file.${runWatchdog.name}(process.argv[1]))`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(options)], {
    // A session of its own: what ends a terminal does not end it. No mark, so that it does not end itself.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  child.on('error', () => undefined); // A machine that starts no process starts no agent either, and says so.
  child.stdin!.on('error', () => undefined);
  child.unref();
  unrefPipe(child);
  return {
    setRoot: (pid) => void child.stdin!.write(`${pid}\n`),
    dismiss: () => void child.stdin!.end(`${dismissed}\n`),
  };
}

/** An open pipe to the watchdog must not keep a supervisor alive that has nothing else to do. */
function unrefPipe({ stdin }: ChildProcess): void {
  (stdin as { unref?: () => void } | null)?.unref?.();
}
