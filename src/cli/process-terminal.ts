/** The terminal of a command that runs as a process: what happens when its output cannot be written. */

import { writeSync } from 'node:fs';
import { exitCodes, type Terminal } from './command.ts';

/** The exit code of a process whose reader is gone: 128 and the number of SIGPIPE. */
const readerGoneCode = 141;

/** Creates the terminal. A hook writes synchronously, without the start-up time of streams. */
export function createTerminal([name]: readonly string[]): Terminal {
  if (name !== 'hook') return createStreamTerminal(name === 'run' ? '; the agent is ended' : '');
  const writeTo = (file: number) => (line: string) => void writeSync(file, `${line}\n`);
  const err = (line: string) => {
    try {
      writeTo(2)(line);
    } catch {
      // Without stderr, the error cannot be reported.
    }
  };
  return { out: writeTo(1), err, cwd: process.cwd(), env: process.env, isShortLived: true };
}

function createStreamTerminal(consequence: string): Terminal {
  const stop = new AbortController();
  process.stderr.on('error', () => undefined); // Without stderr, the error cannot be reported.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (stop.signal.aborted) return; // Each further line fails as well.
    stop.abort(error);
    const isReaderGone = error.code === 'EPIPE'; // As with `| head`, which is not worth a sentence.
    if (!isReaderGone)
      process.stderr.write(
        `switchgear: the output could not be written: ${describeSystemError(error)}${consequence}\n`,
      );
    process.exitCode ||= isReaderGone ? readerGoneCode : exitCodes.error;
  });
  return {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    cwd: process.cwd(),
    env: process.env,
    input: process.stdin,
    coloured: process.stdout.isTTY === true && !process.env.NO_COLOR,
    stopSignal: stop.signal,
  };
}

/** Whether an error is one of the system, such as a missing permission. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

/** The words of a system error, with its file: `no space left on device`, `/etc/x: permission denied`. */
export function describeSystemError({ message, path: named }: NodeJS.ErrnoException, file?: string): string {
  const path = named ?? file;
  const [, words = message] = /^[A-Z0-9_]+: ([^,]+)/.exec(message) ?? [];
  return path === undefined ? words : `${path}: ${words}`;
}

/** Why a file could not be read or understood, without its name. */
export function describeReadError(error: unknown): string {
  if (!isSystemError(error)) return error instanceof Error ? error.message : String(error);
  return describeSystemError({ ...error, name: error.name, message: error.message, path: undefined });
}
