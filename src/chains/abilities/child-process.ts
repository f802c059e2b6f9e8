/** Processes that abilities start: each leads a group of its own, and none of a group outlives us or its time. */

import type { ChildProcess } from 'node:child_process';
import { reasonLengthMax, stderrKeptBytes } from '../../core/limits.ts';

/** Variables that every process gets; whatever else it needs, somebody has to give it. */
const passed = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of a process: the harmless part of ours, and what it is given. */
export function cleanEnvironment(env: Environment, given: Environment): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const name of passed) {
    const value = env[name];
    // Shells keep functions in variables that begin like this.
    if (value !== undefined && !value.startsWith('()')) clean[name] = value;
  }
  for (const [name, value] of Object.entries(given)) if (value !== undefined) clean[name] = value;
  return clean;
}

const alive = new Set<ChildProcess>();

/** Ends the group of a process when we end, whatever for; to be called as soon as it was started. */
export function endWithUs(child: ChildProcess): void {
  if (child.pid === undefined) return; // It could not be started.
  if (alive.size === 0) process.on('exit', endAll);
  alive.add(child);
  child.once('exit', () => {
    // What it started itself would go on without it.
    endGroup(child, 'SIGKILL');
    alive.delete(child);
    if (alive.size === 0) process.off('exit', endAll);
  });
}

function endAll(): void {
  for (const child of alive) endGroup(child, 'SIGKILL');
}

/** Signals a process that was started `detached`, and all that it started in its turn. */
export function endGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return; // It never started.
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}

/** How a process ended, in words. */
function endingOf({ exitCode, signalCode }: ChildProcess): string {
  return signalCode !== null ? `ended by ${signalCode}` : `exit code ${exitCode}`;
}

/** How a line begins in which a program that crashed says what happened. */
const errorLine = /^(Uncaught )?[\w.]*(Error|Exception)\b/;

/** How a process ended, with the last error it wrote to its stderr, else the last line; `heard` gets every line. */
export function lastWords(child: ChildProcess, heard?: (line: string) => void): () => string {
  let line = '';
  let last = '';
  const end = () => {
    const said = line.trim();
    if (said !== '') heard?.(said);
    // Traces and the like follow what went wrong.
    if (said !== '' && (errorLine.test(said) || !errorLine.test(last))) last = said;
    line = '';
  };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...more] = text.split('\n');
    line = (line + first).slice(0, stderrKeptBytes);
    for (const next of more) {
      end();
      line = next.slice(0, stderrKeptBytes);
    }
  });
  return () => {
    end();
    return last === '' ? endingOf(child) : `${endingOf(child)}: ${last.slice(0, reasonLengthMax)}`;
  };
}
