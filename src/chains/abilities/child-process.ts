/** Child processes of abilities: each leads a process group, which ends with this process or at its time limit. */

import type { ChildProcess } from 'node:child_process';
import { reasonLengthMax, stderrKeptBytes } from '../../core/limits.ts';

/** Environment variables that every child process gets; a chain must set any other variable. */
const inheritedNames = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of a child process: the harmless variables of this process, and the given ones. */
export function cleanEnvironment(env: Environment, extra: Environment): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const name of inheritedNames) {
    const value = env[name];
    // Shells export a function as a variable whose value starts like this.
    if (value !== undefined && !value.startsWith('()')) clean[name] = value;
  }
  for (const [name, value] of Object.entries(extra)) if (value !== undefined) clean[name] = value;
  return clean;
}

const children = new Set<ChildProcess>();

/** Kills the group of a child process when this process exits for any reason; call it right after the start. */
export function endOnExit(child: ChildProcess): void {
  if (child.pid === undefined) return; // The process could not be started.
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
