/** The `switchgear` command: finds the command that is meant, runs it, and turns errors into one clear line. */

import { readFileSync, writeSync } from 'node:fs';
import { SwitchgearError } from '../core/error.ts';
import { timerMaxMs } from '../core/limits.ts';
import { type Command, exitCodes, type Terminal, usageError } from './command.ts';

/** One line per command; each lives in a file of its own that is read only when it is called. */
const commands: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  status: () => import('./status-command.ts'),
  tail: () => import('./tail-command.ts'),
  trip: async () => ({ command: (await import('./breaker-commands.ts')).trip }),
  reset: async () => ({ command: (await import('./breaker-commands.ts')).reset }),
  halt: async () => ({ command: (await import('./task-commands.ts')).halt }),
  pause: async () => ({ command: (await import('./task-commands.ts')).pause }),
  resume: async () => ({ command: (await import('./task-commands.ts')).resume }),
  inbox: () => import('./inbox-command.ts'),
  policy: () => import('./policy-command.ts'),
  rules: () => import('./rules-command.ts'),
  chain: () => import('./chain-command.ts'),
  prompt: () => import('./prompt-command.ts'),
  run: () => import('./run-command.ts'),
  hook: () => import('./hook-command.ts'),
  init: () => import('./init-command.ts'),
  doctor: () => import('./doctor-command.ts'),
  demo: () => import('./demo-command.ts'),
};

/** Runs the command and gives its exit code: 0 it worked, 1 it did not, 2 it was called wrongly. */
export async function main(args: readonly string[], terminal: Terminal = terminalOf(args)): Promise<number> {
  // While a store is busy nothing else may keep the process alive: it would end without an answer, as if all were well.
  const alive = setInterval(() => undefined, timerMaxMs);
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    if (!(error instanceof SwitchgearError)) throw error;
    terminal.err(`switchgear: ${error.message}`);
    // A store that cannot be used was the wrong one to give.
    if (error.code.startsWith('store_')) return exitCodes.usage;
    if (error.code !== 'usage') return exitCodes.error;
    terminal.err('Try switchgear --help.');
    return exitCodes.usage;
  } finally {
    clearInterval(alive);
  }
}

async function dispatch([name, ...args]: readonly string[], terminal: Terminal): Promise<number> {
  if (name === '--version' || name === '-v') {
    terminal.out(version());
    return exitCodes.ok;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    for (const line of await help()) terminal.out(line);
    return name === undefined ? exitCodes.usage : exitCodes.ok;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!load) throw usageError(`unknown command ${name}`);
  const { command } = await load();
  // What stands after -- is another command's.
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  if (own.includes('--help') || own.includes('-h')) {
    for (const line of command.usage) terminal.out(`switchgear ${line}`);
    for (const line of command.details ?? []) terminal.out(line);
    return exitCodes.ok;
  }
  return command.run(args, terminal);
}

async function help(): Promise<readonly string[]> {
  const loaded = await Promise.all(Object.values(commands).map((load) => load()));
  return [
    'switchgear: the safety layer between an AI agent and everything it does',
    '',
    ...loaded.flatMap(({ command }) => command.usage.map((line) => `  switchgear ${line}`)),
    '  switchgear --version',
    '',
    'The first eight look at a store: --store sqlite:PATH, redis://HOST:PORT or rediss://HOST:PORT (and ?prefix=NAME),',
    'else SWITCHGEAR_STORE, else the file switchgear/state.db in your state folder. With --json they print data.',
    '',
    'Exit codes: 0 it worked, 1 it did not, 2 it was called wrongly.',
  ];
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** A hook has no time for streams: it reads and writes as files do. */
function terminalOf([name]: readonly string[]): Terminal {
  if (name !== 'hook') return processTerminal();
  const to = (file: number) => (line: string) => void writeSync(file, `${line}\n`);
  return { out: to(1), err: to(2), cwd: process.cwd(), env: process.env, isBrief: true };
}

function processTerminal(): Terminal {
  const leave = new AbortController();
  // A reader that goes away (`| head`) is no error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    leave.abort();
  });
  return {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    cwd: process.cwd(),
    env: process.env,
    input: process.stdin,
    coloured: process.stdout.isTTY === true && !process.env.NO_COLOR,
    leave: leave.signal,
  };
}
