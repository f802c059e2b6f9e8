/** The `switchgear` command: finds a command by its name, runs it, and prints an error as one line. */

import { readFileSync, writeSync } from 'node:fs';
import { SwitchgearError } from '../core/error.ts';
import { cleanLines } from '../core/foreign-text.ts';
import { timerMaxMs } from '../core/limits.ts';
import { type Command, cleanOutput, exitCodes, type Terminal, usageError } from './command.ts';

/** The commands; each file is loaded only when its command runs. */
const commands: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  status: () => import('./commands/status.ts'),
  tail: () => import('./commands/tail.ts'),
  trip: async () => ({ command: (await import('./commands/breakers.ts')).tripCommand }),
  reset: async () => ({ command: (await import('./commands/breakers.ts')).resetCommand }),
  halt: async () => ({ command: (await import('./commands/tasks.ts')).haltCommand }),
  pause: async () => ({ command: (await import('./commands/tasks.ts')).pauseCommand }),
  resume: async () => ({ command: (await import('./commands/tasks.ts')).resumeCommand }),
  inbox: () => import('./commands/inbox.ts'),
  policy: () => import('./commands/policy.ts'),
  rules: () => import('./commands/rules.ts'),
  chain: () => import('./chain/command.ts'),
  prompt: () => import('./commands/prompt.ts'),
  run: () => import('./run/command.ts'),
  hook: () => import('./hook/command.ts'),
  init: () => import('./commands/init.ts'),
  doctor: () => import('./commands/doctor.ts'),
  demo: () => import('./commands/demo.ts'),
};

/** Runs a command and returns its exit code: 0 success, 1 failure, 2 wrong usage. */
export async function main(args: readonly string[], raw: Terminal = createTerminal(args)): Promise<number> {
  const terminal = cleanTerminal(raw);
  // Timers of a store do not keep the process alive; without this timer the process would exit while a store is busy.
  const alive = setInterval(() => undefined, timerMaxMs);
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    if (!(error instanceof SwitchgearError)) throw error;
    terminal.err(`switchgear: ${error.message}`);
    // An unusable store is a wrong `--store`.
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
    terminal.out(readVersion());
    return exitCodes.ok;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    for (const line of await formatHelp()) terminal.out(line);
    return name === undefined ? exitCodes.usage : exitCodes.ok;
  }
  const loadCommand = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!loadCommand) throw usageError(`unknown command '${name}'`);
  const { command } = await loadCommand();
  // Arguments after `--` belong to the agent command.
  const ownArgs = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  if (ownArgs.includes('--help') || ownArgs.includes('-h')) {
    for (const line of command.usage) terminal.out(`switchgear ${line}`);
    for (const line of command.details ?? []) terminal.out(line);
    return exitCodes.ok;
  }
  return command.run(args, terminal);
}

async function formatHelp(): Promise<readonly string[]> {
  const loaded = await Promise.all(Object.values(commands).map((loadCommand) => loadCommand()));
  return [
    'switchgear: a safety layer between an AI agent and its tools, models and workers',
    '',
    ...loaded.flatMap(({ command }) => command.usage.map((line) => `  switchgear ${line}`)),
    '  switchgear --version',
    '',
    'The commands from status to inbox use a store: --store sqlite:PATH, redis://HOST:PORT or rediss://HOST:PORT,',
    'with ?prefix=NAME if needed. The default is SWITCHGEAR_STORE, or else switchgear/state.db in your state folder.',
    'With --json they print JSON.',
    '',
    'Exit codes: 0 success, 1 failure, 2 wrong usage.',
  ];
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Cleans every line of a command right before it leaves. */
function cleanTerminal(terminal: Terminal): Terminal {
  const { out, err, coloured = false } = terminal;
  return {
    ...terminal,
    out: (line) => out(cleanOutput(line, coloured, cleanLines)),
    err: (line) => err(cleanOutput(line, coloured, cleanLines)),
  };
}

/** A hook writes synchronously, without the start-up time of streams. */
function createTerminal([name]: readonly string[]): Terminal {
  if (name !== 'hook') return createProcessTerminal();
  const writeTo = (file: number) => (line: string) => void writeSync(file, `${line}\n`);
  return { out: writeTo(1), err: writeTo(2), cwd: process.cwd(), env: process.env, isShortLived: true };
}

function createProcessTerminal(): Terminal {
  const stop = new AbortController();
  // A closed reader (`| head`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    stop.abort();
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
