/**
 * Starts a small process that outlives the supervisor and reads from a pipe. If the pipe closes without a message,
 * the supervisor was killed, and the watchdog ends the agent.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { dismissed, runWatchdog, type WatchdogOptions, watchdogFile } from './watchdog-process.ts';

export interface Watchdog {
  /** Sets the process of the command. */
  setRoot(pid: number): void;
  /** Tells the watchdog to exit after a normal end. */
  dismiss(): void;
}

/** Starts the watchdog, before the command starts. */
export function startWatchdog(options: WatchdogOptions): Watchdog {
  const script = `import(${JSON.stringify(watchdogFile)}).then((file) => file.${runWatchdog.name}(process.argv[1]))`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(options)], {
    // In its own session, so that the end of the terminal does not end it; without the mark, so that it does not end
    // itself.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  child.on('error', () => undefined); // If no process can be started, starting the agent fails as well and is reported.
  child.stdin!.on('error', () => undefined);
  child.unref();
  unrefPipe(child);
  return {
    setRoot: (pid) => void child.stdin!.write(`${pid}\n`),
    dismiss: () => void child.stdin!.end(`${dismissed}\n`),
  };
}

/** Keeps the pipe to the watchdog from keeping the supervisor alive. */
function unrefPipe({ stdin }: ChildProcess): void {
  (stdin as { unref?: () => void } | null)?.unref?.();
}
