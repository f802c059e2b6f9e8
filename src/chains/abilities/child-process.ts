/** Child processes of abilities: each ends with everything it started, with this process or at its time limit. */

import type { ChildProcess } from 'node:child_process';
import { reasonLengthMax, stderrKeptBytes } from '../../core/limits.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import { endTree, killProcesses } from '../../supervisor/end-tree.ts';
import { handleLeftBehind, type LeftBehind } from '../../supervisor/left-behind.ts';
import { isMarkName, makeMarkName, processTree } from '../../supervisor/process-tree.ts';
import { watchTree } from '../../supervisor/tree-watch.ts';

/** Environment variables that every child process gets; a chain must set any other variable. */
const inheritedNames = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a child process: the harmless variables of this process, the given ones, and marks: its own, and
 * those of runs around this process, which end it with their agent.
 */
export function cleanEnvironment(env: Environment, extra: Environment, mark: string): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const name of inheritedNames) {
    const value = env[name];
    // Shells export a function as a variable whose value starts like this.
    if (value !== undefined && !value.startsWith('()')) clean[name] = value;
  }
  for (const [name, value] of Object.entries(extra)) if (value !== undefined) clean[name] = value;
  for (const name of Object.keys(env)) if (isMarkName(name)) clean[name] = '1';
  clean[mark] = '1';
  return clean;
}

/** A started child process whose descendants can be ended. */
export interface OwnedChild {
  /** Kills the process and everything that it started. */
  kill(): void;
  /** Handles the programs that the ended process has left running; returns undefined if there were none. */
  handleLeftBehind(options: LeftProgramOptions, stop: AbortSignal): Promise<LeftBehind | undefined>;
}

/** What happens to the programs that a process has left running. */
export interface LeftProgramOptions {
  readonly mode: 'end' | 'leave' | 'wait';
  readonly graceMs: number;
}

const owned = new Set<OwnedChild>();

/** Creates the variable that a child process and its descendants inherit. */
export function createMark(): string {
  return makeMarkName(uniqueId());
}

/**
 * Kills a child process with its descendants when this process exits for any reason, and, unless the caller handles
 * what is left behind, when the child process ends. Its tree is looked at while it runs, because a descendant may leave
 * the process group. Call it right after the start.
 */
export function ownChild(child: ChildProcess, mark: string, atExit: 'kill' | 'keep' = 'kill'): OwnedChild {
  const { pid } = child;
  // The process could not be started.
  if (pid === undefined) return { kill: () => undefined, handleLeftBehind: async () => undefined };
  const tree = processTree(mark, true);
  tree.setRoot(pid);
  const stopWatching = watchTree(tree, systemClock, () => undefined);
  const self: OwnedChild = {
    kill() {
      signalGroup(child, 'SIGKILL');
      if (killProcesses(tree.scan()) > 0) void endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 0 });
    },
    async handleLeftBehind({ mode, graceMs }, stop) {
      let ending: Promise<unknown> | undefined;
      const ended = () => {
        ending ??= endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: 0 });
        return ending;
      };
      try {
        return await handleLeftBehind(tree, systemClock, { mode, graceMs, stop, ended });
      } finally {
        if (stop.aborted) await ended();
        disown(self);
      }
    },
  };
  if (owned.size === 0) process.on('exit', killAll);
  owned.add(self);
  child.once('exit', () => {
    stopWatching();
    if (atExit === 'keep') return;
    self.kill(); // Descendants would survive their parent.
    disown(self);
  });
  return self;
}

function disown(child: OwnedChild): void {
  owned.delete(child);
  if (owned.size === 0) process.off('exit', killAll);
}

function killAll(): void {
  for (const child of owned) child.kill();
}

/** Signals a process that was started `detached`, and its process group. */
export function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return; // The process never started.
  try {
    process.kill(-pid, signal);
  } catch {
    // No process of the group is left.
  }
}

/** How a process ended, in words. */
function describeEnding({ exitCode, signalCode }: ChildProcess): string {
  return signalCode !== null ? `ended by ${signalCode}` : `exit code ${exitCode}`;
}

/** The start of a line in which a crashed program reports its error. */
const errorLine = /^(Uncaught )?[\w.]*(Error|Exception)\b/;

/** Describes the exit of a process with its last error on stderr, else its last line; `onStderr` gets every line. */
export function trackEnding(child: ChildProcess, onStderr?: (line: string) => void): () => string {
  let line = '';
  let last = '';
  const finishLine = () => {
    const text = line.trim();
    if (text !== '') onStderr?.(text);
    // Stack traces follow the line with the error.
    if (text !== '' && (errorLine.test(text) || !errorLine.test(last))) last = text;
    line = '';
  };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...more] = text.split('\n');
    line = (line + first).slice(0, stderrKeptBytes);
    for (const next of more) {
      finishLine();
      line = next.slice(0, stderrKeptBytes);
    }
  });
  return () => {
    finishLine();
    return last === '' ? describeEnding(child) : `${describeEnding(child)}: ${last.slice(0, reasonLengthMax)}`;
  };
}
