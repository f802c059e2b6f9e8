/** Processes that abilities start: each leads a group of its own, and none of a group outlives us or its time. */

import type { ChildProcess } from 'node:child_process';
import { reasonLengthMax, stderrKeptBytes } from '../../core/limits.ts';

/** Variables that every process gets; whatever else it needs, somebody has to give it. */
const inheritedNames = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of a process: the harmless part of ours, and what it is given. */
export function cleanEnvironment(env: Environment, extra: Environment): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const name of inheritedNames) {
    const value = env[name];
    // Shells keep functions in variables that begin like this.
    if (value !== undefined && !value.startsWith('()')) clean[name] = value;
  }
  for (const [name, value] of Object.entries(extra)) if (value !== undefined) clean[name] = value;
  return clean;
}

const children = new Set<ChildProcess>();

/** Ends the group of a process when we end, whatever for; to be called as soon as it was started. */
export function endOnExit(child: ChildProcess): void {
  if (child.pid === undefined) return; // It could not be started.
  if (children.size === 0) process.on('exit', killAll);
  children.add(child);
  child.once('exit', () => {
    // Kills the process group: child processes would survive their parent.
    signalGroup(child, 'SIGKILL');
    children.delete(child);
    if (children.size === 0) process.off('exit', killAll);
  });
}

function killAll(): void {
  for (const child of children) signalGroup(child, 'SIGKILL');
}

/** Signals a process that was started `detached`, and all that it started in its turn. */
export function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return; // It never started.
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}

/** How a process ended, in words. */
function describeEnding({ exitCode, signalCode }: ChildProcess): string {
  return signalCode !== null ? `ended by ${signalCode}` : `exit code ${exitCode}`;
}

/** How a line begins in which a program that crashed says what happened. */
const errorLine = /^(Uncaught )?[\w.]*(Error|Exception)\b/;

/** How a process ended, with the last error it wrote to its stderr, else the last line; `onStderr` gets every line. */
export function trackEnding(child: ChildProcess, onStderr?: (line: string) => void): () => string {
  let line = '';
  let last = '';
  const finishLine = () => {
    const text = line.trim();
    if (text !== '') onStderr?.(text);
    // Traces and the like follow what went wrong.
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
