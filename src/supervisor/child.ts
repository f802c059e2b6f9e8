/** Runs the command as a process in its own session; its output is read no faster than it is passed on. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { drainMs } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';

export interface StartOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the command uses the terminal directly; it then stays in the supervisor's session. */
  readonly ownsTerminal: boolean;
}

/** Receives a piece of output. If it returns a promise, reading waits for it. */
export type OutputListener = (piece: Buffer) => Promise<void> | undefined;

/** How a process ended: with a code, or by a signal. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
  /** Starts to read the output; until then the output waits in the pipe. */
  read(out: OutputListener, err: OutputListener): void;
  /** Waits for the rest of the output: until its end, or until processes that hold the pipe open are silent. */
  drain(clock: Clock, maxMs: number, isHeldOpen: () => boolean): Promise<void>;
}

/** Why a command did not start: 127 not found, 126 cannot be executed, as in shells. */
export interface StartFailure {
  readonly code: 126 | 127;
  readonly message: string;
}

export async function startChild(options: StartOptions): Promise<Child | StartFailure> {
  const { command, cwd, env, ownsTerminal } = options;
  const [program = '', ...args] = command;
  let child: ChildProcess;
  try {
    child = spawn(program, args, {
      cwd,
      env,
      detached: !ownsTerminal,
      stdio: ownsTerminal ? 'inherit' : ['inherit', 'pipe', 'pipe'],
    });
    await once(child, 'spawn');
  } catch (error) {
    return describeStartFailure(program, error as NodeJS.ErrnoException);
  }
  const flow = { pieces: 0, undelivered: 0 };
  const outputs = [readOutput(child.stdout, flow), readOutput(child.stderr, flow)] as const;
  const allClosed = Promise.all(outputs.map(({ closed }) => closed));
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return {
    pid: child.pid!,
    exited,
    read(out, err) {
      outputs[0].deliverTo(out);
      outputs[1].deliverTo(err);
    },
    async drain(clock, maxMs, isHeldOpen) {
      const untilMs = clock.nowMs() + maxMs;
      let pieces = -1;
      let silent = 0;
      for (;;) {
        let forget = () => {};
        const tick = new Promise<false>((resolve) => {
          forget = clock.after(drainMs, () => resolve(false), true);
        });
        const isOver = await Promise.race([allClosed.then(() => true), tick]);
        forget(); // Listeners without a purpose must not keep the process alive.
        // A slow reader is not silence: pieces that are not passed on yet count as output.
        silent = flow.pieces === pieces && flow.undelivered === 0 ? silent + 1 : 0;
        pieces = flow.pieces;
        // If no process holds the pipe open, its end will come, even on a busy machine.
        if (isOver || clock.nowMs() >= untilMs || (silent > 1 && isHeldOpen())) break;
      }
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

/** The exit code that a shell would report. */
export function exitCodeOf({ code, signal }: ProcessExit): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** Says why a program could not be started, with the exit code that a shell would report. */
export function describeStartFailure(program: string, { code = '', message }: NodeJS.ErrnoException): StartFailure {
  const name = JSON.stringify(program);
  if (code === 'ENOENT') return { code: 127, message: `command not found: ${name}; check its spelling and PATH` };
  if (code === 'EACCES')
    return { code: 126, message: `${name} cannot be run: the file is not a program, or you may not run it` };
  return { code: 126, message: `${name} cannot be run: ${message}` };
}

/** The number of received pieces, and of those not passed on yet. */
interface OutputFlow {
  pieces: number;
  undelivered: number;
}

/** The reader of one output stream. */
interface OutputReader {
  deliverTo(listener: OutputListener): void;
  readonly closed: Promise<void>;
}

/**
 * Reads a stream no faster than its pieces are passed on, so that a flood of output slows the command down. It
 * listens from the start, because Node drops output without a listener when the process ends.
 */
function readOutput(source: Readable | null, flow: OutputFlow): OutputReader {
  if (source === null) return { deliverTo() {}, closed: Promise.resolve() };
  const buffered: Buffer[] = [];
  let currentListener: OutputListener | undefined;

  function deliver(piece: Buffer, listener: OutputListener): void {
    flow.pieces++;
    const wait = listener(piece);
    if (wait === undefined) return;
    flow.undelivered++;
    source!.pause();
    void wait.then(() => {
      flow.undelivered--;
      source!.resume();
    });
  }

  source.on('data', (piece: Buffer) => {
    if (currentListener !== undefined) {
      deliver(piece, currentListener);
      return;
    }
    buffered.push(piece);
    source.pause();
  });
  return {
    deliverTo(listener) {
      currentListener = listener;
      source.resume();
      for (const piece of buffered.splice(0)) deliver(piece, listener);
    },
    closed: new Promise((resolve) => {
      source.once('close', resolve);
      source.once('error', () => resolve()); // A broken pipe has no more output.
    }),
  };
}
