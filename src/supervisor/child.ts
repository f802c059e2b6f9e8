/** The command as a process: started in a session of its own, its output read no faster than it is passed on. */

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
  /** The terminal is left to the command: it reads and writes there by itself, and stays in our session. */
  readonly ownsTerminal: boolean;
}

/** Takes a piece of output; a promise has the command wait until it is passed on. */
export type Taker = (piece: Buffer) => Promise<void> | undefined;

/** How a process ended: with a code, or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Begins to read what it prints; until then it waits in the pipe. */
  read(out: Taker, err: Taker): void;
  /** Waits for the rest of its output: until its end, or until nothing more comes from those who hold it open. */
  drained(clock: Clock, mostMs: number, isHeldOpen: () => boolean): Promise<void>;
}

/** Why a command did not start: 127 it is not there, 126 it cannot be run, as shells say. */
export interface NotStarted {
  readonly code: 126 | 127;
  readonly message: string;
}

export async function startChild(options: StartOptions): Promise<Child | NotStarted> {
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
    return notStarted(program, error as NodeJS.ErrnoException);
  }
  const flow = { pieces: 0, held: 0 };
  const outlets = [outletOf(child.stdout, flow), outletOf(child.stderr, flow)] as const;
  const passed = Promise.all(outlets.map(({ closed }) => closed));
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return {
    pid: child.pid!,
    exited,
    read(out, err) {
      outlets[0].passOn(out);
      outlets[1].passOn(err);
    },
    async drained(clock, mostMs, isHeldOpen) {
      const untilMs = clock.nowMs() + mostMs;
      let pieces = -1;
      let silent = 0;
      for (;;) {
        let forget = () => {};
        const tick = new Promise<false>((resolve) => {
          forget = clock.after(drainMs, () => resolve(false), true);
        });
        const isOver = await Promise.race([passed.then(() => true), tick]);
        forget(); // Nothing may keep the process alive that nobody waits for.
        // Whoever reads along may be slow: as long as a piece is held there, it is no silence.
        silent = flow.pieces === pieces && flow.held === 0 ? silent + 1 : 0;
        pieces = flow.pieces;
        // A pipe that nobody holds has an end, which comes however busy the machine is.
        if (isOver || clock.nowMs() >= untilMs || (silent > 1 && isHeldOpen())) break;
      }
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

/** The code that a shell gives for it. */
export function codeOf({ code, signal }: Exit): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

function notStarted(program: string, { code = '', message }: NodeJS.ErrnoException): NotStarted {
  const name = JSON.stringify(program);
  if (code === 'ENOENT') return { code: 127, message: `there is no command ${name}: see how it is spelt, and PATH` };
  if (code === 'EACCES')
    return { code: 126, message: `${name} cannot be run: it is not a program, or not yours to run` };
  return { code: 126, message: `${name} cannot be run: ${message}` };
}

/** Pieces that came so far, and those that wait to be passed on. */
interface Flow {
  pieces: number;
  held: number;
}

/** One stream of the command. */
interface Outlet {
  passOn(take: Taker): void;
  readonly closed: Promise<void>;
}

/**
 * Reads no faster than what was read is passed on, so that a flood stays where it comes from. It listens from the
 * start: what nobody listens to Node throws away when the process ends.
 */
function outletOf(source: Readable | null, flow: Flow): Outlet {
  if (source === null) return { passOn() {}, closed: Promise.resolve() };
  const early: Buffer[] = [];
  let take: Taker | undefined;

  function give(piece: Buffer, to: Taker): void {
    flow.pieces++;
    const wait = to(piece);
    if (wait === undefined) return;
    flow.held++;
    source!.pause();
    void wait.then(() => {
      flow.held--;
      source!.resume();
    });
  }

  source.on('data', (piece: Buffer) => {
    if (take !== undefined) {
      give(piece, take);
      return;
    }
    early.push(piece);
    source.pause();
  });
  return {
    passOn(to) {
      take = to;
      source.resume();
      for (const piece of early.splice(0)) give(piece, to);
    },
    closed: new Promise((resolve) => {
      source.once('close', resolve);
      source.once('error', () => resolve()); // A broken pipe has nothing more to say.
    }),
  };
}
