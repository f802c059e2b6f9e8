/** The `switchgear` command: finds a command by its name, runs it, and prints an error as one line. */

import { readFileSync } from 'node:fs';
import { SwitchgearError } from '../core/error.ts';
import { cleanLines, textOf } from '../core/foreign-text.ts';
import { timerMaxMs } from '../core/limits.ts';
import { type Command, cleanOutput, exitCodes, suggestName, type Terminal, usageError } from './command.ts';
import { createTerminal, describeSystemError, isSystemError } from './process-terminal.ts';

/** The commands; each file is loaded only when its command runs. */
const commands = {
  run: () => import('./run/command.ts'),
  mcp: () => import('./mcp/command.ts'),
  gateway: () => import('./gateway/command.ts'),
  init: () => import('./commands/init.ts'),
  doctor: () => import('./commands/doctor.ts'),
  demo: () => import('./commands/demo.ts'),
  status: () => import('./commands/status.ts'),
  tail: () => import('./commands/tail.ts'),
  inbox: () => import('./commands/inbox.ts'),
  serve: () => import('./commands/serve.ts'),
  alerts: () => import('./commands/alerts.ts'),
  halt: async () => ({ command: (await import('./commands/tasks.ts')).haltCommand }),
  pause: async () => ({ command: (await import('./commands/tasks.ts')).pauseCommand }),
  resume: async () => ({ command: (await import('./commands/tasks.ts')).resumeCommand }),
  trip: async () => ({ command: (await import('./commands/breakers.ts')).tripCommand }),
  reset: async () => ({ command: (await import('./commands/breakers.ts')).resetCommand }),
  hold: async () => ({ command: (await import('./commands/breakers.ts')).holdCommand }),
  release: async () => ({ command: (await import('./commands/breakers.ts')).releaseCommand }),
  policy: () => import('./commands/policy.ts'),
  rules: () => import('./commands/rules.ts'),
  prompt: () => import('./commands/prompt.ts'),
  chain: () => import('./chain/command.ts'),
  hook: () => import('./hook/command.ts'),
} satisfies Readonly<Record<string, CommandLoader>>;

type CommandLoader = () => Promise<{ readonly command: Command }>;

/** The sections of the help, each with its commands. */
const helpSections: Readonly<Record<string, readonly (keyof typeof commands)[]>> = {
  'Run an agent under limits': ['run', 'mcp', 'gateway', 'init', 'doctor', 'demo'],
  'See what happens, and answer': ['status', 'tail', 'inbox', 'serve', 'alerts'],
  'Stop and release by hand': ['halt', 'pause', 'resume', 'trip', 'reset', 'hold', 'release'],
  'Set limits and rules': ['policy', 'rules', 'prompt'],
  'Run a fixed plan': ['chain'],
  'Called by agents': ['hook'],
};

/** Runs a command and returns its exit code: 0 success, 1 failure, 2 wrong usage. */
export async function main(args: readonly string[], raw: Terminal = createTerminal(args)): Promise<number> {
  const terminal = cleanTerminal(raw);
  // Timers of a store do not keep the process alive; without this timer the process would exit while a store is busy.
  const alive = setInterval(() => undefined, timerMaxMs);
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    return reportError(error, args, terminal);
  } finally {
    clearInterval(alive);
  }
}

/** Prints one sentence about an error and returns the exit code. */
function reportError(error: unknown, [name = '']: readonly string[], terminal: Terminal): number {
  if (isSystemError(error)) {
    terminal.err(`switchgear: ${describeSystemError(error)}`);
    return exitCodes.error;
  }
  if (!(error instanceof SwitchgearError)) {
    const hint = 'please report it, with what NODE_DEBUG=switchgear adds';
    terminal.err(`switchgear: internal error: ${textOf(error)}; ${hint}`);
    if (/\bswitchgear\b/.test(terminal.env.NODE_DEBUG ?? '') && error instanceof Error) terminal.err(`${error.stack}`);
    return exitCodes.error;
  }
  terminal.err(`switchgear: ${error.message}`);
  // An unusable store is a wrong `--store`.
  if (error.code.startsWith('store_')) return exitCodes.usage;
  if (error.code !== 'usage') return exitCodes.error;
  terminal.err(`Try switchgear ${Object.hasOwn(commands, name) ? `${name} ` : ''}--help.`);
  return exitCodes.usage;
}

async function dispatch([name, ...args]: readonly string[], terminal: Terminal): Promise<number> {
  if (name === '--version' || name === '-v') {
    terminal.out(readVersion());
    return exitCodes.ok;
  }
  const isHelp = name === '--help' || name === '-h' || name === 'help';
  const [topic] = args;
  if (isHelp && topic !== undefined && !topic.startsWith('-')) return printHelp(await loadCommand(topic), terminal);
  if (name === undefined || isHelp) {
    for (const line of await formatHelp()) terminal.out(line);
    return name === undefined ? exitCodes.usage : exitCodes.ok;
  }
  const command = await loadCommand(name);
  // Arguments after `--` belong to the agent command.
  const ownArgs = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  if (ownArgs.includes('--help') || ownArgs.includes('-h')) return printHelp(command, terminal);
  return command.run(args, terminal);
}

async function loadCommand(name: string): Promise<Command> {
  if (Object.hasOwn(commands, name)) return (await commands[name as keyof typeof commands]()).command;
  if (name.startsWith('-')) throw usageError(`expected a command before the option ${name}`);
  throw usageError(`unknown command '${name}'${suggestName(name, [...Object.keys(commands), 'help'])}`);
}

function printHelp({ usage, details = [] }: Command, { out }: Terminal): number {
  for (const line of usage) out(`switchgear ${line}`);
  for (const line of details) out(line);
  return exitCodes.ok;
}

async function formatHelp(): Promise<readonly string[]> {
  const sections = Object.entries(helpSections).map(async ([title, names]) => {
    const loaded = await Promise.all(names.map(loadCommand));
    return ['', `${title}:`, ...loaded.flatMap(({ usage }) => usage.map((line) => `  switchgear ${line}`))];
  });
  return [
    'switchgear: a safety layer between an AI agent and its tools, models and workers',
    '',
    'Begin with: switchgear demo, then: switchgear run -- COMMAND, as in: switchgear run -- claude -p "fix the tests"',
    ...(await Promise.all(sections)).flat(),
    '',
    'switchgear help COMMAND explains a command and its options; switchgear --version prints the version.',
    '',
    'Commands that use a store take --store sqlite:PATH, redis://HOST:PORT or rediss://HOST:PORT, with ?prefix=NAME if',
    'needed. The default is SWITCHGEAR_STORE, or else switchgear/state.db in your state folder. Commands that print',
    'a state take --json.',
    '',
    'Exit codes: 0 success, 1 failure, 2 wrong usage, 141 the reader of the output is gone.',
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
